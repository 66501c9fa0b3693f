/**
 * Parses OLLAMA_HOST as Ollama does: `host`, `host:port`, `:port` or a URL. Returns the base URL of its
 * OpenAI-compatible API, with the loopback address for a wildcard such as 0.0.0.0; null if invalid.
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
