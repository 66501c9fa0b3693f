import { signal } from '@preact/signals'

export type Permission = 'read' | 'operate' | 'money' | 'own'

/** Whoever is signed in. Source: `GET /console/session`. */
export interface Session {
  role: string
  label: string | null
  account: string | null
  permissions: Permission[]
  csrf_token: string
  expires_at: string
}

export const session = signal<Session | null>(null)
/** Whether a session ended while the console was in use. */
export const hasEnded = signal(false)

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
