/**
 * A value as a text that clients keep and send back: `mark`, then its JSON in base64url. It is not secret,
 * and a client can change it.
 */
export function sealJson (mark: string, value: object): string {
  return mark + Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Reverses `sealJson`; null for a text without the mark, or a truncated or invalid one. */
export function unsealJson (mark: string, text: string): unknown {
  if (!text.startsWith(mark)) return null
  try {
    return JSON.parse(Buffer.from(text.slice(mark.length), 'base64url').toString())
  } catch {
    return null
  }
}
