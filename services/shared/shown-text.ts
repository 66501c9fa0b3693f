/**
 * Shortens a name or text for messages, log lines and labels: well-formed Unicode of at most `maxLength`
 * UTF-16 units and an ellipsis. A pair of surrogates is never cut in two.
 */
export function shownText (text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.isWellFormed() ? text : text.toWellFormed()
  const head = text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')
  return `${head.toWellFormed()}…`
}

/** Longer names are cut in headers; no model has such a name. */
const maxHeaderLength = 1_024

/** Text for a header: percent-encoded where it is not printable ASCII, and shortened. */
export function headerText (value: string): string {
  const text = shownText(value, maxHeaderLength)
  // Nearly all names need no encoding, and the test takes half as long.
  return /^[\x20-\x7e]*$/.test(text) ? text : text.replace(/[^\x20-\x7e]+/g, encodeURIComponent)
}
