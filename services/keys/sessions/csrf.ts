import { timingSafeEqual } from 'node:crypto'
import { foreignOrigin, wrongCsrfToken } from './errors.ts'
import { derivedFrom } from './token.ts'

/** The headers that reveal the origin of a request, as in Node.js. */
export interface Arrival {
  method: string
  headers: {
    origin?: string | undefined
    'sec-fetch-site'?: string | undefined
    'x-csrf-token'?: string | string[] | undefined
  }
  /** The gateway's origins, the public one first, e.g. `https://gateway.example.com`. */
  origins: readonly string[]
  /** Whether the public origin uses https. */
  isSecure: boolean
}

/** Returns the CSRF token of a session, derived from the token in its cookie. */
export function csrfTokenOf (token: string): string {
  return derivedFrom(token, 'csrf')
}

/** Throws GatewayError 403 if a page of another origin made the browser send the request. */
export function requireOwnOrigin ({ headers, origins }: Pick<Arrival, 'headers' | 'origins'>): void {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw foreignOrigin(origins)
  if (origin === undefined) return
  const given = URL.parse(origin)?.origin
  if (given === undefined || !origins.includes(given)) throw foreignOrigin(origins)
}

/** Throws GatewayError 403 unless `given` is the CSRF token of the session. */
export function requireCsrfToken (token: string, given: string | string[] | undefined): void {
  const expected = Buffer.from(csrfTokenOf(token))
  const actual = Buffer.from(typeof given === 'string' ? given : '')
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) throw wrongCsrfToken()
}
