import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ErrorResponse } from '../schemas/openai/error.ts'
import { Health, NotReadyReport, ReadyReport } from '../schemas/shared/health.ts'

/** `GET /healthz` and `GET /readyz`, for load balancers: without a key and under any load. */
const health: FastifyPluginAsyncTypebox = async app => {
  app.get('/healthz', {
    schema: {
      summary: 'Check that the process is alive',
      description: 'For liveness probes: needs neither a key nor the database, and responds under any ' +
        'load.',
      response: { 200: Health, '4xx': ErrorResponse }
    }
  }, async () => ({ status: 'ok' as const }))

  app.get('/readyz', {
    schema: {
      summary: 'Check whether the node accepts requests',
      description: 'For load balancers: 503 while the node stops, is overloaded or has lost its database.',
      response: { 200: ReadyReport, 503: NotReadyReport, '4xx': ErrorResponse }
    }
  }, async (_request, reply) => {
    const { isReady, checks } = app.readiness()
    const status = isReady ? 'ready' as const : 'not_ready' as const
    return reply.code(isReady ? 200 : 503).header('cache-control', 'no-store').send({ status, ...checks })
  })
}

export default health
