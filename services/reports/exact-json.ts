import type { ExactNumber } from '../../schemas/shared/combinators.ts'
import { decimalText, usdText } from '../shared/money.ts'

declare global {
  interface JSON {
    /** Of ECMAScript's JSON.parse source text access, which TypeScript does not know yet. */
    rawJSON (text: string): ExactNumber
  }
}

/** Integer nano-USD as US dollars for JSON, with at most 9 decimals. Throws RangeError for unsafe ones. */
export function exactUsd (nano: number): ExactNumber {
  return JSON.rawJSON(usdText(nano))
}

/** Integer nano-USD as US cents for JSON, with at most 7 decimals. Throws RangeError for unsafe ones. */
export function exactCents (nano: number): ExactNumber {
  return JSON.rawJSON(decimalText(nano, 7))
}
