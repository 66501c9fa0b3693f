import { nanoFromUsd } from '../../../services/shared/money.ts'
import { groupedUsd } from '../parts/money.tsx'

/** The `amount_usd` of a body, as it was typed. Throws an Error for anything but an amount above zero. */
export function amountOf (label: string, text: string): string {
  if (nanoOf(label, text) === 0) throw new Error(`${label}: must be above zero.`)
  return text.trim()
}

/** The same for a limit, which may be zero. */
export function limitAmountOf (label: string, text: string): string {
  nanoOf(label, text)
  return text.trim()
}

/** The exact amount that was typed, as `$1,250.00`; empty while it is none. */
export function typedUsd (text: string): string {
  try {
    return groupedUsd(BigInt(nanoOf('', text)))
  } catch {
    return ''
  }
}

/** Throws an Error that says what to write instead. */
function nanoOf (label: string, text: string): number {
  try {
    const nano = nanoFromUsd(text.trim())
    if (nano >= 0) return nano
  } catch (error) {
    if (error instanceof RangeError) throw new Error(`${label}: ${error.message}.`)
    throw error
  }
  throw new Error(`${label}: must not be below zero.`)
}

/** A new name for a posting; sending the same one again books nothing. */
export function newPosting (): string {
  // Over plain HTTP, browsers have no `randomUUID`.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `console-${Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')}`
}
