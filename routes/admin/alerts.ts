import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AlertList, AlertQuery } from '../../schemas/admin/alerts.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listAlerts } from '../../services/operations/admin/alerts.ts'
import { toPageRequest } from './query.ts'

/** `GET /admin/alerts`: the alerts sent to the webhook, newest first. */
const alerts: FastifyPluginAsyncTypebox = async app => {
  app.get('/alerts', {
    config: { permission: 'read' },
    schema: {
      summary: 'List alerts and the state of their delivery',
      querystring: AlertQuery,
      response: { 200: AlertList, ...errorResponses }
    }
  }, async ({ query, administration }) => await listAlerts(administration, toPageRequest(query)))
}

export default alerts
