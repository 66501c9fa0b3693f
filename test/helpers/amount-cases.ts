/** Amounts with their nano-dollars: one rule for the console, the API, the CLI and gateway.yaml. */
export const amounts: readonly (readonly [string, number])[] = [
  ['12.50', 12_500_000_000],
  ['1250', 1_250_000_000_000],
  ['1,250', 1_250_000_000_000],
  ['1,250.00', 1_250_000_000_000],
  ['9,007,199.254740991', Number.MAX_SAFE_INTEGER],
  ['0.000000001', 1],
  ['0.5', 500_000_000]
]

/** Texts that are no amount, with what the refusal says. */
export const notAmounts: readonly (readonly [string, RegExp])[] = [
  ['12,50', /write 12\.50/],
  ['1,5', /write 1\.5/],
  ['0,50', /write 0\.50/],
  ['0,123', /write 0\.123/],
  ['1234,567', /write 1234\.567/],
  ['1.000,50', /write 1000\.50/],
  ['1.234.567,8', /write 1234567\.8/],
  ['1,2,3', /such as 12\.50 or 1,250\.00/],
  ['12,5000', /write 12\.5000/],
  ['1,250,00', /such as 12\.50/],
  ['1250,000,000', /such as 12\.50/],
  ['1,250.000,5', /such as 12\.50/],
  ['1.000.000', /such as 12\.50/],
  ['1 250', /such as 12\.50/],
  ['1e3', /such as 12\.50/],
  ['0x10', /such as 12\.50/],
  ['.5', /such as 12\.50/],
  ['5.', /such as 12\.50/],
  ['+5', /such as 12\.50/],
  ['$5', /such as 12\.50/],
  ['12.50 USD', /such as 12\.50/],
  ['١٢', /such as 12\.50/],
  ['ten', /such as 12\.50/],
  ['0.0000000001', /at most 9 decimals/],
  ['9007199.254740992', /at most \$9,007,199\.254740991/]
]
