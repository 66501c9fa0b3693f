import type { adminRoles, permissions } from '../../schemas/admin/keys.ts'
import type { Actor } from '../store/audit.ts'
import { GatewayError } from '../shared/errors.ts'
import type { KeyRecord, KeyRole } from './types.ts'

export type AdminRole = typeof adminRoles[number]

/**
 * `read` shows, `operate` manages keys, accounts and jobs, `money` books, `own` manages admin keys. `account`
 * shows only the account of a user's key.
 */
export type Permission = typeof permissions[number]

/**
 * An actor with the role of its key; TOLLGATE_ADMIN_KEY and the command line are owners. A user, who has
 * signed in to the console, reads one account.
 */
export interface Operator extends Actor {
  readonly role: KeyRole
  /** The only account that the actor may read; null for all. */
  readonly account: string | null
}

/** The actor of TOLLGATE_ADMIN_KEY. */
export const environmentOperator: Operator = { id: 'env', label: null, role: 'owner', account: null }

/** Returns the operator of a valid key. */
export function operatorOf ({ id, label, role, account }: Pick<KeyRecord, 'id' | 'label' | 'role' | 'account'>): Operator {
  return { id: `key:${id}`, label, role, account: role === 'user' ? account : null }
}

const granted: Readonly<Record<KeyRole, readonly Permission[]>> = {
  owner: ['read', 'operate', 'money', 'own'],
  operator: ['read', 'operate'],
  finance: ['read', 'money'],
  viewer: ['read'],
  user: ['account']
}

/** Returns the permissions of a role. */
export function permissionsOf (role: KeyRole): readonly Permission[] {
  return granted[role]
}

/** Returns the roles with a permission, e.g. `owner, finance`. */
export function rolesWith (permission: Permission): string {
  return Object.entries(granted).filter(([, all]) => all.includes(permission)).map(([role]) => role).join(', ')
}

/** Throws GatewayError 403 unless the operator's role has the permission. */
export function requirePermission ({ role }: Operator, permission: Permission): void {
  if (granted[role].includes(permission)) return
  throw new GatewayError(403, 'invalid_request_error', 'You have insufficient permissions for this operation. ' +
    `It needs one of the roles ${rolesWith(permission)}; the role of this key is ${role}.`,
  { code: 'insufficient_permissions' })
}
