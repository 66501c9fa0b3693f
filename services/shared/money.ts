const nanoDecimals = 9
const maxDigits = 60

/**
 * Converts US dollars, as decimal text or a number, to integer nano-USD without rounding. A number counts
 * as the decimal that JavaScript prints for it. Throws RangeError for text that is not a number, for more
 * than 9 decimals, and beyond ±$9,007,199.
 */
export function nanoFromUsd (usd: string | number): number {
  const text = String(usd).trim()
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(text) ?? []
  const digits = whole + fraction
  if (digits === '' || digits.length > maxDigits) throw new RangeError(`expected an amount in US dollars, got '${text.slice(0, 80)}'`)

  const shift = nanoDecimals + Number(exponent) - fraction.length
  const unsigned = BigInt(digits)
  if (unsigned === 0n) return 0
  const scale = 10n ** BigInt(Math.abs(shift))
  if (shift < 0 && unsigned % scale !== 0n) throw new RangeError(`expected at most ${nanoDecimals} decimals, got ${text}`)
  const nano = Number(shift < 0 ? unsigned / scale : unsigned * scale)
  return assertSafe(sign === '-' ? -nano : nano)
}

/**
 * Converts USD per million tokens, as a decimal text or a number, to integer pico-USD per token. Throws
 * RangeError as `nanoFromUsd` does, and for more than 6 decimals.
 */
export function picoFromUsdPerMillion (usd: string | number): number {
  const nano = nanoFromUsd(usd)
  if (nano % 1000 !== 0) throw new RangeError(`More than 6 decimals: ${usd}`)
  return nano / 1000
}

/**
 * Converts integer nano-USD to the JavaScript number nearest to it in US dollars, for JSON. Throws
 * RangeError.
 */
export function usdFromNano (nano: number): number {
  return assertSafe(nano) / 10 ** nanoDecimals
}

/** Formats integer nano-USD as decimal US dollars, without exponent and trailing zeros. */
export function usdText (nano: number): string {
  return decimalText(nano, nanoDecimals)
}

/** Formats `integer / 10^decimals` exactly. Throws RangeError for unsafe integers. */
export function decimalText (integer: number, decimals: number): string {
  const scale = 10 ** decimals
  const unsigned = Math.abs(assertSafe(integer))
  const fraction = unsigned % scale
  const whole = `${integer < 0 ? '-' : ''}${(unsigned - fraction) / scale}`
  if (fraction === 0) return whole
  // The leading 1 of `scale` keeps the leading zeros of the fraction.
  const digits = String(scale + fraction)
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return `${whole}.${digits.slice(1, end)}`
}

/**
 * Rounds pico-USD up to nano-USD. Beyond the safe integers it returns their largest: only a wrong number of a
 * provider costs so much, and the ledger charges no more than the hold.
 */
export function nanoFromPico (pico: number): number {
  return Math.min(Math.ceil(pico / 1000), Number.MAX_SAFE_INTEGER)
}

/** Returns a safe integer unchanged. Throws RangeError for every other number. */
export function assertSafe (amountNano: number): number {
  if (!Number.isSafeInteger(amountNano)) throw new RangeError(`expected whole nano-USD within ±$9,007,199, got ${amountNano}`)
  return amountNano
}
