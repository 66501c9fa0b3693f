/** Returns an http or https URL without a trailing slash; null when the text is none or has a password. */
export function readUrl (text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null
  return url.origin + url.pathname.replace(/\/+$/, '') + url.search
}
