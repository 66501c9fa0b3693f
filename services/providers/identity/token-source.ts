import { UpstreamError } from '../../shared/errors.ts'

/** A bearer token of an identity service. */
export interface AccessToken {
  token: string
  /** In ms since 1970. */
  expiresAt: number
  /** Headers that every request with the token must have. */
  headers?: Readonly<Record<string, string>>
}

/** The current token of one identity. */
export interface TokenSource {
  /** Returns a token that has not expired. Throws UpstreamError with `sent: 'no'`. */
  token (signal: AbortSignal): Promise<AccessToken>
  /**
   * A service has refused a token: it is not used again. Returns whether another one may be accepted, which
   * is unlikely if the token was renewed for that reason a moment ago.
   */
  refused (token: string): boolean
}

/** A token is renewed this long before it expires; Google's metadata server sends the same one until then. */
const aheadMs = 240_000
/** A token that expires sooner is not used: the request is still to be sent, and clocks differ. */
const leastMs = 15_000
/** The least time between two attempts to renew a token that can still be used, or that was refused. */
const pauseMs = 10_000

/**
 * Caches the token that `fetchToken` fetches. It is renewed ahead, in the background while the old one lasts;
 * calls that need the new one wait for the same renewal.
 */
export function createTokenSource (
  fetchToken: () => Promise<AccessToken>, nowMs: () => number = Date.now
): TokenSource {
  let current: AccessToken | null = null
  let renewal: Promise<AccessToken> | null = null
  let notBeforeMs = -Infinity
  let renewedForMs = -Infinity

  function renew (): Promise<AccessToken> {
    renewal ??= fetchToken()
      .then(fetched => { current = fetched; return fetched })
      .finally(() => { renewal = null })
    return renewal
  }

  return {
    async token (signal) {
      const leftMs = current === null ? 0 : current.expiresAt - nowMs()
      if (current === null || leftMs < leastMs) return await unlessAborted(renew(), signal)
      if (leftMs < aheadMs && nowMs() >= notBeforeMs) {
        notBeforeMs = nowMs() + pauseMs
        renew().catch(() => { /* The current token lasts; the next attempt is due after the pause. */ })
      }
      return current
    },
    refused (token) {
      if (current?.token !== token) return true
      if (nowMs() - renewedForMs < pauseMs) return false
      renewedForMs = nowMs()
      current = null
      return true
    }
  }
}

/** Stops waiting when the request is aborted; the renewal goes on for others. */
async function unlessAborted<Value> (work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(new UpstreamError('aborted', 'no', 'The request was aborted.'))
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
