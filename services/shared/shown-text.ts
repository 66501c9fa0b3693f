/**
 * A name or text of any kind, as messages, log lines and labels show it: well-formed Unicode of at most
 * `maxLength` UTF-16 units and an ellipsis. A pair of surrogates is never cut in two.
 */
export function shownText (text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.isWellFormed() ? text : text.toWellFormed()
  const head = text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')
  return `${head.toWellFormed()}…`
}

/** Longer names are cut in headers; no model has such a name. */
const maxHeaderLength = 1_024

/** Text as a header may carry it: what is not printable ASCII is percent-encoded, and what is long is cut. */
export function headerText (value: string): string {
  const text = shownText(value, maxHeaderLength)
  // Nearly all names are, and a test alone takes half as long.
  return /^[\x20-\x7e]*$/.test(text) ? text : text.replace(/[^\x20-\x7e]+/g, encodeURIComponent)
}
