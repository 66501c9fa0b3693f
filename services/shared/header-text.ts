/** Text as a header may carry it: what is not printable ASCII is percent-encoded. */
export function headerText (value: string): string {
  // A loop takes a tenth of the time of a pattern, and almost all names are plain.
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at)
    if (code < 0x20 || code > 0x7e) return value.toWellFormed().replace(/[^\x20-\x7e]+/g, encodeURIComponent)
  }
  return value
}
