import { nanoFromUsd, picoFromUsdPerMillion } from '../../services/shared/money.ts'

/** A JSON reviver that keeps each number as its source text; numbers with an exponent become decimals. */
export function keepDigits (_key: string, value: unknown, context?: { source: string }): unknown {
  if (typeof value !== 'number') return value
  return context === undefined || /e/i.test(context.source) ? String(value) : context.source
}

/** Moves the decimal point of a number's text: `4e-06` by 6 places is `4`, `0.3` by 0 is `0.3`. */
export function movePoint (digits: string, places: number): string {
  const [, whole = '0', fraction = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(digits) ?? []
  const shift = Number(exponent) + places
  const left = shift < 0 ? (whole.padStart(whole.length - shift, '0')) : whole + fraction.padEnd(shift, '0').slice(0, shift)
  const right = shift < 0 ? '' : fraction.slice(shift)
  const moved = shift < 0 ? `${left.slice(0, shift)}.${left.slice(shift)}${fraction}` : `${left}.${right}`
  return moved.replace(/\.?0*$/, '').replace(/^0+(?=\d)/, '') || '0'
}

/** Pico-USD per token; undefined if the text is not a price of at most 6 decimals per million tokens. */
export function exactPico (digits: unknown, places = 0): number | undefined {
  if (typeof digits !== 'string' || !/^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(digits)) return undefined
  try {
    return picoFromUsdPerMillion(movePoint(digits, places))
  } catch {
    return undefined
  }
}

/** Nano-USD; undefined if the text is not an amount of at most 9 decimals. */
export function exactNano (digits: unknown): number | undefined {
  if (typeof digits !== 'string' || !/^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(digits)) return undefined
  try {
    return nanoFromUsd(movePoint(digits, 0))
  } catch {
    return undefined
  }
}
