/** The addresses of a connection and its request. */
interface Arrival {
  /** As configured, without a trailing slash; with or without the `/v1` at its end. */
  publicBaseUrl: string | null
  protocol: string
  /** As the client, or a trusted proxy, has named it. */
  host: string
  /** The local address of the connection. */
  address: string | undefined
  port: number | undefined
  /** The path under which an app has registered the gateway, e.g. `/ai`. */
  prefix?: string
}

/** A host name or address in a header, with or without a port. */
const hostPattern = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** The base URL of the API, without a trailing slash, e.g. `https://gateway.example.com/v1`. */
export function baseUrlOf (
  { publicBaseUrl, protocol, host, address = '127.0.0.1', port = 80, prefix = '' }: Arrival
): string {
  if (publicBaseUrl !== null) return publicBaseUrl.endsWith('/v1') ? publicBaseUrl : `${publicBaseUrl}/v1`
  const scheme = protocol === 'https' ? 'https' : 'http'
  const named = `${scheme}://${host}${prefix}/v1`
  // The pattern also matches invalid hosts such as 1.2.3.256.
  if (hostPattern.test(host) && URL.canParse(named)) return named
  // A client of HTTP/1.0 need not name a host.
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}${prefix}/v1`
}
