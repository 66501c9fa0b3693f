import type { ExactNumber } from '../../../schemas/shared/combinators.ts'
import { decimalText, usdText } from '../../shared/money.ts'

declare global {
  interface JSON {
    /** From ECMAScript's JSON.parse source text access; not in TypeScript's library yet. */
    rawJSON (text: string): ExactNumber
  }
}

/** Integer nano-USD as US dollars for JSON, exact. Throws RangeError for unsafe integers. */
export function exactUsd (nano: number): ExactNumber {
  return JSON.rawJSON(usdText(nano))
}

/** Integer nano-USD as US cents for JSON, exact. Throws RangeError for unsafe integers. */
export function exactCents (nano: number): ExactNumber {
  return JSON.rawJSON(decimalText(nano, 7))
}
