import type { Store } from '../../store/store.ts'
import { sessionIn } from './cookie.ts'
import { csrfTokenOf, requireCsrfToken, requireOwnOrigin, type Arrival } from './csrf.ts'
import { signInFailed } from './errors.ts'
import { signInMs } from './oidc.ts'
import { expiryOf, idleMs, longestMs, type BrowserSession, type Holder, type KeyHolder } from './session.ts'
import { tokenDigest } from './token.ts'

export type Sessions = ReturnType<typeof createSessions>

/** How often the use of a session is written. */
const touchEveryMs = 60_000

interface Row { holder: string, payer: string | null, startedAt: number, seenAt: number }

/**
 * Creates the sessions of the console: rows that all nodes share. Only the browser's cookie contains the
 * token. Methods throw StoreUnavailable.
 * Long because its short methods share private state.
 */
export function createSessions (store: Pick<Store, 'run' | 'get' | 'clock'>) {
  const { clock } = store
  return {
    /** Starts a session; `actor` is the holder's name in the audit log. Deletes expired sessions. */
    async start (
      { token, holder, actor }: { token: string, holder: Holder, actor: string }
    ): Promise<BrowserSession> {
      const now = clock()
      await store.run('delete from console_session where started_at <= $1 or seen_at <= $2',
        [now - longestMs, now - idleMs])
      await store.run(`
        insert into console_session (token_sha256, actor, holder, started_at, seen_at)
        values ($1, $2, $3, $4, $4)`, [tokenDigest(token), actor, JSON.stringify(holder), now])
      return { token, holder, payer: null, startedAt: now, seenAt: now }
    },

    /** Returns the valid session of a Cookie header, or null. */
    async read (cookies: string | undefined, isSecure: boolean): Promise<BrowserSession | null> {
      const token = sessionIn(cookies, isSecure)
      if (token === undefined) return null
      const row = await store.get<Row>(`
        select holder, payer, started_at as "startedAt", seen_at as "seenAt" from console_session
        where token_sha256 = $1`, [tokenDigest(token)])
      if (row === undefined || expiryOf(row) <= clock()) return null
      const { holder, payer, startedAt, seenAt } = row
      return { token, holder: JSON.parse(holder), payer: JSON.parse(payer ?? 'null'), startedAt, seenAt }
    },

    /** Postpones the end of an idle session. */
    async touch ({ token, seenAt }: BrowserSession): Promise<void> {
      const now = clock()
      if (now - seenAt < touchEveryMs) return
      await store.run('update console_session set seen_at = $2 where token_sha256 = $1 and seen_at <= $3',
        [tokenDigest(token), now, now - touchEveryMs])
    },

    /** Sets the key that pays for the session's requests to `/v1`. */
    async choosePayer (session: BrowserSession, payer: KeyHolder): Promise<BrowserSession> {
      await store.run('update console_session set payer = $2 where token_sha256 = $1',
        [tokenDigest(session.token), JSON.stringify(payer)])
      return { ...session, payer }
    },

    /** Ends a session on all nodes. */
    async end ({ token }: BrowserSession): Promise<void> {
      await store.run('delete from console_session where token_sha256 = $1', [tokenDigest(token)])
    },

    /** Ends all sessions of this session's holder, in every browser. */
    async endAll ({ token }: BrowserSession): Promise<void> {
      await store.run(`
        delete from console_session
        where actor = (select actor from console_session where token_sha256 = $1)`, [tokenDigest(token)])
    },

    /** Marks a sign-in attempt as used. Throws GatewayError 401 if it was used before. */
    async useAttempt (attempt: string): Promise<void> {
      const now = clock()
      // By then the attempt has expired, even if another node's clock is ahead.
      await store.run('delete from used_sign_in where used_at <= $1', [now - 2 * signInMs])
      const used = await store.run(`
        insert into used_sign_in (attempt_sha256, used_at) values ($1, $2) on conflict do nothing`,
      [tokenDigest(attempt), now])
      if (used === 0) throw signInFailed('It was finished before.')
    },

    csrfTokenOf: ({ token }: BrowserSession): string => csrfTokenOf(token),

    /** Throws GatewayError 403 if another page may have made the request: see `needsToken`. */
    refuseForged (
      { token }: BrowserSession, arrival: Arrival, needsToken = changesState(arrival.method)
    ): void {
      requireOwnOrigin(arrival)
      if (needsToken) requireCsrfToken(token, arrival.headers['x-csrf-token'])
    }
  }
}

function changesState (method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}
