import { hasEnded, session, type Session } from '../session.ts'
import { ApiError } from './error.ts'
import { call, send } from './fetch.ts'

/** Finds out who is signed in, if anybody. */
export async function loadSession (): Promise<void> {
  session.value = await call<Session>('/console/session').catch(() => null)
}

/** Signs in with a key, which the page does not keep. Throws ApiError. */
export async function signIn (key: string): Promise<void> {
  const opened = await call<Session | null>('/console/session', { method: 'POST', body: { key } }).catch(error => {
    if (error instanceof ApiError && error.status === 401) throw new ApiError(401, 'This key is not valid here: it is mistyped, expired or revoked.')
    throw error
  })
  hasEnded.value = false
  session.value = opened ?? await call<Session>('/console/session')
}

/** Signs out, also when the gateway has forgotten the session already. */
export async function signOut (): Promise<void> {
  await send('/console/session', { method: 'DELETE' }).catch(() => null)
  session.value = null
  hasEnded.value = false
}
