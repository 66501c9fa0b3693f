/** Returns an http or https URL without a trailing slash; null for anything else, or if it has a password. */
export function readUrl (text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null
  return url.origin + url.pathname.replace(/\/+$/, '') + url.search
}

export const notUrl = 'must be an http or https URL without a user name or password'

/** Paths that the gateway appends to a base URL. */
const endpoint = /\/(chat\/completions|completions|responses|messages|embeddings|models|images\/generations)$/

/** The base URL of a provider's API, as `readUrl` returns it, or what is wrong with the text. */
export function readBaseUrl (text: string): { url: string, problem: null } | { url: null, problem: string } {
  const url = readUrl(text)
  if (url === null) return { url, problem: notUrl }
  const [path] = endpoint.exec(new URL(url).pathname) ?? []
  if (path === undefined) return { url, problem: null }
  return { url: null, problem: `must not end in ${path}, which the gateway appends` }
}
