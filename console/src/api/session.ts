import type { ConsoleSession } from '../../../schemas/admin/session.ts'
import { hasEnded, identityProvider, session, sessionIn } from '../session.ts'
import { ApiError } from './error.ts'
import { call, send } from './fetch.ts'

/** Finds out who is signed in, if anybody. */
export async function loadSession (): Promise<void> {
  const found = await call<ConsoleSession>('/console/session').catch(() => null)
  identityProvider.value = found?.oidc ?? null
  session.value = found === null ? null : sessionIn(found)
}

/** Signs in with a key, which the page does not keep. Throws ApiError. */
export async function signIn (key: string): Promise<void> {
  const opened = await call<ConsoleSession>('/console/session', { method: 'POST', body: { key } }).catch(inOwnWords)
  session.value = sessionIn(opened)
  hasEnded.value = false
}

/** Chooses the key that pays in the playground of an operator. Throws ApiError. */
export async function choosePayer (key: string): Promise<void> {
  session.value = sessionIn(await call<ConsoleSession>('/console/session/key', { method: 'PUT', body: { key } }))
}

/** Signs out, also when the gateway has forgotten the session already; `everywhere`: in all browsers. */
export async function signOut (everywhere?: 'everywhere'): Promise<void> {
  const query = { everywhere: everywhere === undefined ? undefined : 'true' }
  await send('/console/session', { method: 'DELETE', query }).catch(() => null)
  session.value = null
  hasEnded.value = false
}

function inOwnWords (error: unknown): never {
  const isWrong = error instanceof ApiError && error.status === 401
  throw isWrong ? new ApiError(401, 'This key is not valid here: it is mistyped, expired or revoked.') : error
}
