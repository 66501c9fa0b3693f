import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../schemas/openai/error.ts'

const text = { description: 'Metrics in the text format of Prometheus', content: { 'text/plain': { schema: Type.String() } } }

/** `GET /metrics`, for admin keys. */
const metrics: FastifyPluginAsyncTypebox = async app => {
  app.get('/metrics', {
    config: { passThrough: true },
    onRequest: app.authenticateAdmin,
    schema: {
      security: [{ adminKey: [] }],
      summary: 'Show the metrics for Prometheus',
      description: 'Text for Prometheus, for admin keys; `TOLLGATE_METRICS_PORT` serves it on a separate ' +
        'port without a key.',
      response: { 200: text, ...errorResponses }
    }
  }, async (_request, reply) => reply.type(app.metrics.contentType).send(await app.metrics.text()))
}

export default metrics
