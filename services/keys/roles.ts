import type { adminRoles, permissions } from '../../schemas/admin/keys.ts'
import type { Actor } from '../audit/audit.ts'
import { GatewayError } from '../shared/errors.ts'

export type AdminRole = typeof adminRoles[number]

/** `read` shows, `operate` manages keys, accounts and jobs, `money` books, `own` manages admin keys. */
export type Permission = typeof permissions[number]

/** An actor with the role of its admin key; TOLLGATE_ADMIN_KEY and the command line are owners. */
export interface Operator extends Actor { readonly role: AdminRole }

const granted: Readonly<Record<AdminRole, readonly Permission[]>> = {
  owner: ['read', 'operate', 'money', 'own'],
  operator: ['read', 'operate'],
  finance: ['read', 'money'],
  viewer: ['read']
}

/** Returns what a role may do. */
export function permissionsOf (role: AdminRole): readonly Permission[] {
  return granted[role]
}

/** Returns the roles that may do something, e.g. `owner, finance`. */
export function rolesWith (permission: Permission): string {
  return Object.entries(granted).filter(([, all]) => all.includes(permission)).map(([role]) => role).join(', ')
}

/** Throws GatewayError 403 unless the operator's role has the permission. */
export function requirePermission ({ role }: Operator, permission: Permission): void {
  if (granted[role].includes(permission)) return
  throw new GatewayError(403, 'invalid_request_error', 'You have insufficient permissions for this operation. ' +
    `It needs one of the roles ${rolesWith(permission)}; the role of this admin key is ${role}.`,
  { code: 'insufficient_permissions' })
}
