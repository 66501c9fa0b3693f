import { readUsd } from '../parts/money.tsx'

/** The `amount_usd` of a body, with every digit that was typed. Throws an Error for anything else. */
export function amountOf (text: string): string {
  const amount = readUsd(text)
  if (amount === null) throw new Error('The amount must be a positive number of dollars with at most nine decimals, e.g. 12.50.')
  return amount
}

/** A new name for a posting; sending the same one again books nothing. */
export function newPosting (): string {
  return `console-${crypto.randomUUID()}`
}
