/**
 * Converts USD, as servers state them, to an integer of `10^-decimals` USD, rounded up. Undefined for all but
 * numbers and texts of digits from 0: `-1` is a price that depends on the request.
 */
export function statedUsd (usd: unknown, decimals: number): number | undefined {
  const isDigits = typeof usd === 'number' || (typeof usd === 'string' && /^\d+(\.\d+)?(e-?\d+)?$/i.test(usd))
  if (!isDigits) return undefined
  // 15 digits are exact in binary, so that the result is not rounded up for the 17th.
  const units = Math.ceil(Number((Number(usd) * 10 ** decimals).toPrecision(15)))
  return units >= 0 && Number.isSafeInteger(units) ? units : undefined
}

/** Decimals of prices by the token, and of other prices. */
export const picoDecimals = 12
export const nanoDecimals = 9
