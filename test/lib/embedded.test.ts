import { once } from 'node:events'
import { request as send, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import OpenAI from 'openai'
import { createGateway, tollgate, type GatewayOptions } from '../../lib/index.ts'

/** An app with its own routes, hook, error handler, 404 and decorators, and the gateway under `/ai`. */
async function startApp (
  t: Test, options: GatewayOptions = {}
): Promise<{ app: FastifyInstance, key: string, logged: object[] }> {
  const logged: object[] = []
  const stream = { write: (line: string) => { logged.push(JSON.parse(line)) } }
  const app = Fastify({ pluginTimeout: 0, logger: { stream } })
  t.teardown(() => app.close())
  let key = ''
  app.decorate('authenticate', () => 'the app\'s')
  app.decorate('keys', 'the app\'s' as never)
  app.addHook('onRequest', async (_request, reply) => { reply.header('x-app', 'yes') })
  app.setErrorHandler((error: Error, _request, reply) => reply.code(418).send({ app: error.message }))
  app.setNotFoundHandler((request, reply) => reply.code(404).send({ app: `no ${request.url}` }))
  app.get('/boom', async () => { throw new Error('boom') })
  app.post('/echo', { schema: { body: { type: 'object', properties: { n: { type: 'integer' } } } } }, async ({ body }) => body)
  await app.register(tollgate, {
    prefix: '/ai', database: 'sqlite::memory:', media: join(t.testdir(), 'media'), onFirstKey: found => { key = found }, ...options
  })
  await app.ready()
  return { app, key, logged }
}

const messages = [{ role: 'user' as const, content: 'What is a gateway?' }]

t.test('the app beside the gateway keeps its routes, hooks, error handler, 404 and validation', async t => {
  const { app } = await startApp(t)
  t.match((await app.inject('/boom')).json(), { app: 'boom' })
  t.match((await app.inject('/v1/models')).json(), { app: 'no /v1/models' })
  const echoed = await app.inject({ method: 'POST', url: '/echo', payload: { n: '7' } })
  t.same(echoed.json(), { n: 7 }, 'the validator of the app still coerces types')
  t.notOk(echoed.headers['x-request-id'])
  t.match(app, { authenticate: Function, keys: 'the app\'s' })
  t.notOk(app.hasDecorator('ledger'))
})

t.test('below its prefix the gateway serves as it does alone', async t => {
  const { app, key, logged } = await startApp(t)
  const headers = { authorization: `Bearer ${key}`, host: 'app.example.com' }
  const ask = (payload: object, url = '/ai/v1/chat/completions') => app.inject({ method: 'POST', url, headers, payload })
  const whole = await ask({ model: 'sandbox-chat', messages })
  t.match(whole.json(), { object: 'chat.completion' })
  t.match(whole.headers, { 'x-app': 'yes', 'x-request-id': /^req_/, 'x-tollgate-model': 'sandbox-chat' })
  t.match((await ask({ model: 'sandbox-chat', messages: 4 })).json(), { error: { param: 'messages', code: 'invalid_type' } })
  t.match((await ask({ model: 'sandbox-image', prompt: 'x', size: '64x64', response_format: 'url' }, '/ai/v1/images/generations')).json(), {
    data: [{ url: /^http:\/\/app\.example\.com\/ai\/v1\/media\// }]
  })
  t.match((await app.inject('/ai/chat/completions')).json(), { error: { message: /Perhaps you meant \/ai\/v1\/chat\/completions/ } })
  t.match((await app.inject('/ai/v1/messages/x')).json(), { type: 'error', error: { type: 'not_found_error' } })
  t.equal((await app.inject({ method: 'DELETE', url: '/ai/v1/models' })).headers.allow, 'GET, HEAD')
  t.match((await app.inject('/ai/openapi.json')).json(), { paths: { '/v1/chat/completions': Object }, servers: [{ url: '.' }] })
  t.equal((await app.inject('/ai/docs')).headers.location, '/ai/docs/')
  t.equal((await app.inject('/ai/console/')).statusCode, 404, 'its pages are built for another path')
  t.equal((await app.inject('/ai/readyz')).statusCode, 200)
  t.ok(logged.some(line => Reflect.get(line, 'model') === 'sandbox-chat'), 'in the log of the app')
})

t.test('an SDK streams from the app, and Expect of its own routes is left to Node.js', async t => {
  const { app, key } = await startApp(t)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = new OpenAI({ baseURL: `${url}/ai/v1`, apiKey: key, maxRetries: 0 })
  const chunks = await Array.fromAsync(await client.chat.completions.create({ model: 'sandbox-chat', messages, stream: true }))
  t.ok(chunks.length > 3)
  const { port } = app.server.address() as AddressInfo
  const headers = { expect: '100-continue', 'content-type': 'application/json' }
  const request = send({ port, path: '/echo', method: 'POST', headers })
  request.flushHeaders()
  await once(request, 'continue')
  const [response] = await once(request.end('{"n":1}'), 'response') as [IncomingMessage]
  t.equal(response.statusCode, 200)
  response.resume()
})

t.test('closing the app ends the gateway, and what it cannot do it says', async t => {
  const { app, key } = await startApp(t)
  const slow = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'sandbox:delay 300' }] }
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const running = fetch(`${url}/ai/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(slow) })
  await once(app.server, 'request')
  await app.close()
  t.equal((await running).status, 200)
  const rootless = Fastify()
  await t.rejects(async () => { await rootless.register(tollgate, { database: 'sqlite::memory:' }) }, /needs a prefix/)
  await t.rejects(createGateway({ config: { models: [{}] } }), /models\[0\]\.id/)
})

t.test('createGateway serves a configuration, and takes hooks and routes of its caller', async t => {
  let key = ''
  const gateway = await createGateway({
    config: { environment_providers: false, providers: [{ id: 'sandbox', protocol: 'sandbox' }], aliases: { 'gpt-*': 'sandbox-chat' } },
    database: 'sqlite::memory:',
    onFirstKey: found => { key = found }
  })
  t.teardown(() => gateway.close())
  gateway.addHook('onRequest', async (_request, reply) => { reply.header('x-mine', '1') })
  const options = { method: 'POST', url: '/v1/chat/completions', headers: { authorization: `Bearer ${key}` } } as const
  const response = await gateway.inject({ ...options, payload: { model: 'gpt-4o', messages } })
  t.equal(response.headers['x-mine'], '1')
  t.match(response.json(), { model: 'sandbox-chat' })
})
