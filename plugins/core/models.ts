import fp from 'fastify-plugin'
import type { GatewayConfig } from '../../services/catalogue/types.ts'
import { createModels, type Models } from '../../services/models/models.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The models on offer, by the running configuration. */
    models: Models
  }
}

export default fp<{ config: GatewayConfig }>(async (app, { config }) => {
  app.decorate('models', createModels({
    config,
    providers: app.providers,
    onUnlisted: (provider, err) => app.log.warn({ provider, err }, 'the models of this provider cannot be listed'),
    onTruncated: (provider, leftOut) => app.log.warn({ provider, leftOut }, 'this provider offers too many models')
  }))
}, { name: 'models', dependencies: ['providers'] })
