import { fetch } from 'undici'
import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { masked } from '../upstream/read-response.ts'
import type { AccessToken } from './token-source.ts'

const timeoutMs = 20_000

interface IdentityRequest {
  url: string
  headers?: Record<string, string>
  /** Sent as a form; absent: a GET, or `json`. */
  form?: Record<string, string>
  json?: JsonObject
}

/**
 * Calls an identity service, and returns its response as text. It follows no redirects, so that no secret
 * leaves the service. Throws UpstreamError with `sent: 'no'`, since the request that needs the token was not
 * sent; its message has no value of the form.
 */
export async function callIdentityService (
  { url, headers = {}, form, json }: IdentityRequest
): Promise<string> {
  const body = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form)
  try {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body ?? null,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs)
    })
    const text = await response.text()
    if (response.ok) return text
    throw refusal(response.status, text, Object.values(form ?? {}))
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    const isLate = error instanceof DOMException && error.name === 'TimeoutError'
    throw isLate
      ? new UpstreamError('timeout', 'no', `The identity service sent no token within ${timeoutMs} ms.`)
      : new UpstreamError('network', 'no', 'The identity service could not be reached.', { cause: causeOf(error) })
  }
}

/** The token in a response of RFC 6749 section 5.1. Throws UpstreamError. */
export function readToken (text: string, nowMs: number): AccessToken {
  const { access_token: token, expires_in: seconds } = jsonIn(text)
  const lastsMs = Number(seconds) * 1000
  if (!isText(token) || !(lastsMs > 0)) throw unreadable()
  return { token, expiresAt: nowMs + lastsMs }
}

/** The JSON object that an identity service has sent. Throws UpstreamError. */
export function jsonIn (text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch { /* Its text may be a secret. */ }
  throw unreadable()
}

export function unreadable (): UpstreamError {
  return new UpstreamError('bad_reply', 'no', 'The identity service sent no token.')
}

/** Credentials that cannot be used; `why` is a sentence without secrets. */
export function wrongCredentials (why: string): UpstreamError {
  return new UpstreamError('auth', 'no', why)
}

/** Source: RFC 6749 section 5.2, and google.rpc.Status. */
function refusal (status: number, text: string, secrets: readonly string[]): UpstreamError {
  if (status === 429 || status >= 500) {
    return new UpstreamError('overloaded', 'no', `The identity service responded with status ${status}.`)
  }
  const said = reasonIn(text)
  const reason = secrets.filter(({ length }) => length > 0).reduce(masked, said).slice(0, 300)
  return wrongCredentials(`The identity service refused the credentials (${reason || `status ${status}`}).`)
}

function reasonIn (text: string): string {
  try {
    const { error, error_description: description } = jsonIn(text)
    const words = isObject(error) ? [error.status, error.message] : [error, description]
    return words.filter(isText).join(': ')
  } catch {
    return ''
  }
}

/** The network error itself: `fetch` wraps it. */
function causeOf (error: unknown): unknown {
  return error instanceof Error ? error.cause ?? error : error
}
