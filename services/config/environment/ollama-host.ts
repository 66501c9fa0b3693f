/**
 * Parses OLLAMA_HOST as Ollama does: `host`, `host:port`, `:port` or a URL, with port 11434 if there is no
 * scheme. Returns the base URL of its OpenAI-compatible API, or null for an invalid address. A wildcard
 * address such as 0.0.0.0 becomes the loopback address.
 */
export function readOllamaHost (text: string): string | null {
  const trimmed = text.trim().replace(/^(["'])(.*)\1$/, '$2')
  const hasScheme = trimmed.includes('://')
  const address = hasScheme ? trimmed : `http://${trimmed}`
  const match = /^(https?):\/\/(\[[^\]]*\]|[^/:]*)(?::(\d{1,5}))?(\/.*)?$/.exec(address)
  if (match === null) return null
  const [, scheme = 'http', host = '', port = hasScheme ? '' : '11434', path = ''] = match
  const url = URL.parse(`${scheme}://${connectable(host)}${port === '' ? '' : `:${port}`}${path}`)
  return url === null ? null : `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1`
}

function connectable (host: string): string {
  if (host === '' || host === '0.0.0.0') return '127.0.0.1'
  return host === '[::]' ? '[::1]' : host
}
