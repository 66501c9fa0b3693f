import fp from 'fastify-plugin'
import type { GatewayConfig } from '../../services/config/catalogue/types.ts'
import { UpstreamError } from '../../services/shared/errors.ts'
import { createModels, type Models } from '../../services/models/models.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The available models of the running configuration. */
    models: Models
  }
}

/** Keeps the running configuration and the models of its providers. */
export default fp<{ config: GatewayConfig }>(async (app, { config }) => {
  app.decorate('models', createModels({
    config,
    providers: app.providers,
    onUnlisted (provider, err) {
      const missingUrl = err instanceof UpstreamError ? err.details.missingUrl : undefined
      app.log.warn({ provider, missingUrl, err }, 'models of a provider were not listed')
    },
    onTruncated: (provider, dropped) => app.log.warn({ provider, dropped }, 'a provider offers too many models')
  }))
}, { name: 'models', dependencies: ['providers'] })
