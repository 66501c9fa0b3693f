import Fastify, { type FastifyInstance } from 'fastify'
import { defineConfig, tollgate, type GatewayOptions } from 'tollgate'

const config = defineConfig({
  providers: [{ id: 'sandbox', protocol: 'sandbox' }],
  aliases: { 'gpt-*': 'sandbox-chat' }
})

/** A shop with its own routes, error handler and 404, and the gateway under `/ai`. */
export async function createApp (options: GatewayOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 0 })
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ shop: 'broken' }))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ shop: 'no such page' }))
  app.get('/prices', async () => [{ article: 'bridge', price: 9 }])
  await app.register(tollgate, { prefix: '/ai', config, ...options })
  return app
}
