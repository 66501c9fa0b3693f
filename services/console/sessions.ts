import { randomBytes } from 'node:crypto'
import type { Store } from '../store/store.ts'
import { sharedSecret } from '../store/shared-secret.ts'
import { sessionCookie, sessionIn } from './cookie.ts'
import { csrfTokenOf, requireCsrfToken, requireOwnOrigin, type Arrival } from './csrf.ts'
import type { SignInAttempt } from './oidc.ts'
import { createSeal } from './seal.ts'
import { expiryOf, longestMs, type Holder, type SealedSession } from './session.ts'

export type Sessions = Awaited<ReturnType<typeof createSessions>>

/** A cookie is renewed at most this often. */
const renewEveryMs = 60_000

/** Creates the sessions of the console, the same on all nodes of a store. Methods throw StoreUnavailable. */
export async function createSessions (store: Pick<Store, 'run' | 'get' | 'clock'>) {
  const { clock } = store
  const sealSecret = await sharedSecret(store, 'console-session')
  const seal = createSeal<SealedSession>(sealSecret, 'session')
  const attempts = createSeal<SignInAttempt>(sealSecret, 'sign-in')
  const csrfSecret = await sharedSecret(store, 'console-csrf')

  async function cookieOf (session: SealedSession): Promise<string> {
    const maxAgeMs = expiryOf(session) - clock()
    return sessionCookie(await seal.seal(session), { isSecure: session.isSecure, maxAgeMs })
  }

  return {
    /** Returns a Set-Cookie header. */
    cookieOf,

    start (holder: Holder, isSecure: boolean): SealedSession {
      const now = clock()
      return { id: randomBytes(16).toString('base64url'), holder, payer: null, startedAt: now, seenAt: now, isSecure }
    },

    /** Returns the session of a Cookie header; null if there is none, or it expired or was ended. */
    async read (cookies: string | undefined, isSecure: boolean): Promise<SealedSession | null> {
      const sealed = sessionIn(cookies, isSecure)
      const session = sealed === undefined ? null : await seal.open(sealed)
      if (session === null || expiryOf(session) <= clock()) return null
      const ended = await store.get('select 1 as ended from ended_session where id = $1', [session.id])
      return ended === undefined ? session : null
    },

    /** Returns a Set-Cookie header that postpones the end of an idle session, null if it has a recent one. */
    async renewed (session: SealedSession): Promise<string | null> {
      const now = clock()
      return now - session.seenAt < renewEveryMs ? null : await cookieOf({ ...session, seenAt: now })
    },

    sealAttempt: attempts.seal,
    openAttempt: attempts.open,

    /** Ends a session on all nodes. */
    async end ({ id, startedAt }: SealedSession): Promise<void> {
      await store.run('insert into ended_session (id, expires_at) values ($1, $2) on conflict (id) do nothing',
        [id, startedAt + longestMs])
      await store.run('delete from ended_session where expires_at <= $1', [clock()])
    },

    csrfTokenOf: (session: SealedSession): string => csrfTokenOf(csrfSecret, session.id),

    /** Throws GatewayError 403 if another page may have made the request: see `needsToken`. */
    refuseForged (session: SealedSession, arrival: Arrival, needsToken = changesState(arrival.method)): void {
      requireOwnOrigin(arrival)
      if (needsToken) requireCsrfToken(csrfSecret, session.id, arrival.headers['x-csrf-token'])
    }
  }
}

function changesState (method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}
