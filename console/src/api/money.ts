import { readUsd } from '../parts/money.tsx'

/** The `amount_usd` of a body, with every digit that was typed. Throws an Error for anything else. */
export function amountOf (text: string): string {
  const amount = limitAmountOf(text)
  if (!/[1-9]/.test(amount)) throw new Error('The amount must be above zero.')
  return amount
}

/** The same for a limit, which may be zero. */
export function limitAmountOf (text: string): string {
  const amount = readUsd(text)
  if (amount === null) throw new Error('The amount must be a positive number of dollars with at most nine decimals, e.g. 12.50.')
  return amount
}

/** A new name for a posting; sending the same one again books nothing. */
export function newPosting (): string {
  // Over plain HTTP, browsers have no `randomUUID`.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `console-${Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')}`
}
