import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { buildGateway } from '../../helpers/gateway.ts'

t.test('several gateways of a process compile each schema once', async t => {
  const validators: unknown[] = []
  for (let built = 0; built < 2; built++) {
    const { app, headers } = await buildGateway(t, {
      async beforeReady (app) {
        app.addHook('preHandler', async (request: FastifyRequest) => {
          validators.push(request.getValidationFunction('body'))
        })
      }
    })
    const messages = [{ role: 'user', content: 'Hello' }]
    const ask = (payload: object) => app.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload })
    t.equal((await ask({ model: 'sandbox-chat', messages })).statusCode, 200)
    t.match(await ask({ model: 'sandbox-chat', messages: 1 }), { statusCode: 400, body: /messages/ })
  }
  t.equal(validators.length, 2)
  t.type(validators[0], 'function')
  t.equal(validators[1], validators[0])
})
