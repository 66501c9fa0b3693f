const nanoDecimals = 9

/** Digits, plain or in groups of three, and decimals. `0,500` has no groups: its comma is a decimal comma. */
const amount = /^(-?)(\d{1,20}|[1-9]\d{0,2}(?:,\d{3}){1,5})(?:\.(\d{1,30}))?$/

/**
 * Converts US dollars to integer nano-USD without rounding. The one rule for amounts in the console, the API,
 * the CLI, gateway.yaml and the environment: `12.50`, `1250` or `1,250.00`, with `-` in front if below zero.
 * A comma only separates groups of three digits. A number counts as the decimal that JavaScript prints.
 * Throws RangeError, which suggests the right form, for any other text, for more than 9 decimals, and
 * beyond ±$9,007,199.254740991.
 */
export function nanoFromUsd (usd: string | number): number {
  const text = typeof usd === 'number' ? decimalsOf(usd) : usd
  const [, sign = '', whole, fraction = ''] = amount.exec(text) ?? []
  if (whole === undefined) throw notAnAmount(text)
  if (!/^\d{0,9}0*$/.test(fraction)) throw tooManyDecimals(text)
  const digits = whole.replaceAll(',', '') + fraction.slice(0, nanoDecimals).padEnd(nanoDecimals, '0')
  const nano = Number(BigInt(sign + digits))
  if (!Number.isSafeInteger(nano)) throw new RangeError(`expected at most $9,007,199.254740991, got ${text.slice(0, 80)}`)
  return nano
}

/** A number without exponent. Throws RangeError if 9 decimals are too few for it. */
function decimalsOf (usd: number): string {
  const text = usd.toFixed(nanoDecimals)
  if (Number.isFinite(usd) && Number(text) !== usd) throw tooManyDecimals(String(usd))
  return text
}

function tooManyDecimals (text: string): RangeError {
  return new RangeError(`expected at most ${nanoDecimals} decimals, got ${text.slice(0, 80)}`)
}

/** For a decimal comma, as in `1.000,50`, the message has the right form of the amount. */
function notAnAmount (text: string): RangeError {
  const [, whole, fraction] = /^(-?\d{1,3}(?:\.\d{3}){0,5}|-?\d{1,20}),(\d{1,9})$/.exec(text) ?? []
  const correction = whole === undefined ? '' : `: write ${whole.replaceAll('.', '')}.${fraction}`
  const got = `got '${text.slice(0, 80)}'${correction}`
  return new RangeError(`expected an amount in US dollars such as 12.50 or 1,250.00, ${got}`)
}

/**
 * Converts USD per million tokens to integer pico-USD per token. Throws RangeError as `nanoFromUsd` does, and
 * for more than 6 decimals.
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
 * Rounds pico-USD up to nano-USD, at most to the largest safe integer: only a wrong number of a provider
 * costs so much, and the ledger charges no more than the hold.
 */
export function nanoFromPico (pico: number): number {
  return Math.min(Math.ceil(pico / 1000), Number.MAX_SAFE_INTEGER)
}

/** Returns a safe integer unchanged. Throws RangeError for every other number. */
export function assertSafe (amountNano: number): number {
  if (!Number.isSafeInteger(amountNano)) throw new RangeError(`expected whole nano-USD within ±$9,007,199, got ${amountNano}`)
  return amountNano
}
