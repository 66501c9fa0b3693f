/**
 * Text of any kind as one part of a URL, percent-encoded. Surrogates without their other half, which no UTF-8
 * has, become U+FFFD; `encodeURIComponent` alone throws for them.
 */
export function urlPart (text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
