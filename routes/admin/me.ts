import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Me } from '../../schemas/admin/keys.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { permissionsOf } from '../../services/keys/roles.ts'

/** `GET /admin/me`: the actor that the audit log records for this admin key, and its permissions. */
const me: FastifyPluginAsyncTypebox = async app => {
  app.get('/me', {
    config: { permission: 'read', ownAccount: 'handler' },
    schema: { summary: 'Show your name and role', response: { 200: Me, ...errorResponses } }
  }, async ({ actor: { id, label, role, account } }) =>
    ({ object: 'operator' as const, actor: id, label, role, account, permissions: [...permissionsOf(role)] }))
}

export default me
