/**
 * A value as a text that clients keep and send back as it is: `mark`, then its JSON in base64url. It is not
 * secret, and nothing keeps a client from changing it.
 */
export function sealJson (mark: string, value: object): string {
  return mark + Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** What `sealJson` was given; null for a text without the mark, or one that was cut short or changed. */
export function unsealJson (mark: string, text: string): unknown {
  if (!text.startsWith(mark)) return null
  try {
    return JSON.parse(Buffer.from(text.slice(mark.length), 'base64url').toString())
  } catch {
    return null
  }
}
