import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AdminProviderList, ProviderProbe } from '../../schemas/admin/providers.ts'
import { ById } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { probeProvider } from '../../services/operations/admin/provider-probe.ts'
import { listProviders } from '../../services/operations/admin/providers.ts'

/** `GET /admin/providers` and `POST /admin/providers/:id/probe`. */
const providers: FastifyPluginAsyncTypebox = async app => {
  app.get('/providers', {
    config: { permission: 'read' },
    schema: {
      summary: 'Show the providers with their circuit breakers, recent latencies and failures',
      response: { 200: AdminProviderList, ...errorResponses }
    }
  }, async () => {
    await app.flushRequestLog()
    const { store, deployments } = app
    return await listProviders({ store, config: app.models.config(), deployments })
  })

  app.post('/providers/:id/probe', {
    config: { permission: 'operate' },
    schema: {
      summary: 'List the models of a provider now; on success, the next requests try it again',
      params: ById,
      response: { 200: ProviderProbe, ...errorResponses }
    }
  }, async ({ params, administration }) => {
    const { providers, deployments } = app
    const sources = { ...administration, provider: (id: string) => providers.get(id), deployments }
    return await probeProvider(sources, params.id)
  })
}

export default providers
