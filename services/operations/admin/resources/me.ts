import { Me } from '../../../../schemas/admin/keys.ts'
import { permissionsOf } from '../../../keys/roles.ts'
import { operation } from '../operation.ts'

/** The actor that the audit log records for an admin key, and its permissions. */
export const meOperations = [
  operation('GET /me', 'read', {
    ownAccount: 'handler',
    summary: 'Show your name and role',
    result: Me,
    run: async ({ actor: { id, label, role, account } }) =>
      ({ object: 'operator' as const, actor: id, label, role, account, permissions: [...permissionsOf(role)] })
  })
]
