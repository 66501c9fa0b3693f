import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AuditEventList, AuditQuery } from '../../schemas/admin/audit.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listAudit } from '../../services/operations/admin/audit.ts'
import { toPageRequest, toPeriod } from './query.ts'

/** `GET /admin/audit`: changes and their actors, newest first. */
const audit: FastifyPluginAsyncTypebox = async app => {
  app.get('/audit', {
    config: { permission: 'read' },
    schema: {
      summary: 'List changes by operators',
      querystring: AuditQuery,
      response: { 200: AuditEventList, ...errorResponses }
    }
  }, async ({ query, administration }) => {
    const { actor, action, target } = query
    const filter = { ...toPeriod(query), actor, action, target }
    return await listAudit(administration, { ...filter, ...toPageRequest(query) })
  })
}

export default audit
