import { signal } from '@preact/signals'
import type { ConsoleSession } from '../../schemas/admin/session.ts'

/** Whoever is signed in. */
export type Session = ConsoleSession & { role: NonNullable<ConsoleSession['role']>, csrf_token: string }

export type Permission = ConsoleSession['permissions'][number]

export const session = signal<Session | null>(null)
/** The sign-in by an identity provider, if the gateway has one. */
export const identityProvider = signal<ConsoleSession['oidc']>(null)
/** Whether a session ended while the console was in use. */
export const hasEnded = signal(false)

/** The session in an answer; null when signed out. */
export function sessionIn ({ role, csrf_token: token, ...rest }: ConsoleSession): Session | null {
  return role === null || token === null ? null : { ...rest, role, csrf_token: token }
}

/** Forgets the session, after the gateway has refused it. */
export function endSession (): void {
  session.value = null
  hasEnded.value = true
}

/** Whether the signed-in key has a permission. */
export function may (permission: Permission): boolean {
  return session.value?.permissions.includes(permission) ?? false
}

/** Whether the signed-in key is a user's, which sees only its own account. */
export function isUser (): boolean {
  return session.value?.role === 'user'
}
