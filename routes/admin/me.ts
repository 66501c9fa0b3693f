import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Me } from '../../schemas/admin/keys.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { permissionsOf } from '../../services/keys/roles.ts'

/** `GET /admin/me`: who the audit log names for this admin key, and what its role may do. */
const me: FastifyPluginAsyncTypebox = async app => {
  app.get('/me', {
    config: { permission: 'read', ownAccount: 'handler' },
    schema: { summary: 'Show your name and role', response: { 200: Me, ...errorResponses } }
  }, async ({ actor: { id, label, role, account } }) =>
    ({ object: 'operator' as const, actor: id, label, role, account, permissions: [...permissionsOf(role)] }))
}

export default me
