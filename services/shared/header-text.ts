/** Names may be any text; a header may not. */
export function headerText (value: string): string {
  return value.replace(/[^\x20-\x7e]/g, encodeURIComponent)
}
