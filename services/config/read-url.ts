/** Returns an http or https URL without a trailing slash; null for anything else, or if it has a password. */
export function readUrl (text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null
  return url.origin + url.pathname.replace(/\/+$/, '') + url.search
}

export const notUrl = 'must be an http or https URL without a user name or password'
