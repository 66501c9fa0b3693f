import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import t from 'tap'
import { buildGateway } from '../helpers/gateway.ts'

/** The routes whose answers have no serializer: relayed answers, files, text, and documents. */
const passThrough = [
  'GET /admin/entries', 'GET /admin/live', 'GET /admin/statements',
  'GET /admin/usage', 'GET /docs', 'GET /docs/', 'GET /docs/js/scalar.js', 'GET /metrics', 'GET /openapi.json',
  'GET /v1/dashboard/billing/usage', 'GET /v1/media/:name', 'GET /v1/videos/:id/content', 'GET,HEAD /console/',
  'GET,HEAD /console/*', 'HEAD /v1/media/:name', 'POST /v1/chat/completions', 'POST /v1/completions',
  'POST /v1/messages', 'POST /v1/responses'
]

const adminKey = 'the-admin-key-of-this-test'

async function build (t: { teardown (work: () => unknown): void }) {
  const routes: RouteOptions[] = []
  /** `<method> <route>` of each JSON answer below 300, and whether its status has a compiled serializer. */
  const answers = new Map<string, boolean>()
  function watch (message: unknown): void {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', route => { routes.push(route) })
    fastify.addHook('preSerialization', async ({ method, routeOptions: { url } }, reply) => {
      if (reply.statusCode < 300) answers.set(`${method} ${url}`, reply.getSerializationFunction('200') !== undefined)
    })
  }
  subscribe('fastify.initialization', watch)
  t.teardown(() => unsubscribe('fastify.initialization', watch))
  const gateway = await buildGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey } })
  return { ...gateway, routes, answers }
}

t.test('every route declares its answers, or says passThrough', async t => {
  const { routes } = await build(t)
  t.ok(routes.length > 50)
  // The routes that Fastify adds for HEAD answer as those for GET.
  const own = routes.filter(({ method, url }) => method !== 'HEAD' || url.includes('/media/'))
  const free = own.filter(({ config }) => config?.passThrough === true)
  t.same([...new Set(free.map(({ method, url }) => `${method} ${url}`))].sort(), passThrough)
  for (const { method, url, schema, config } of own) {
    t.ok(config?.passThrough === true || schema?.response !== undefined, `${method} ${url}`)
  }
})

t.test('an answer runs the serializer of its route', async t => {
  const { app, key, answers } = await build(t)
  const admin = ['/admin/keys', '/admin/accounts', '/admin/accounts/default', '/admin/entries', '/admin/usage', '/admin/jobs']
  const user = ['/v1/models', '/v1/dashboard/billing', '/v1/dashboard/billing/usage', '/v1/dashboard/billing/subscription']
  for (const url of [...admin, ...user, '/healthz', '/readyz']) {
    const authorization = `Bearer ${admin.includes(url) ? adminKey : key}`
    t.equal((await app.inject({ url, headers: { authorization } })).statusCode, 200, url)
  }
  t.equal(answers.size, admin.length + user.length + 2)
  for (const [route, isCompiled] of answers) t.ok(isCompiled, route)
})

t.test('the values of a query are texts, so no route asks for a number or a boolean', async t => {
  const { routes } = await build(t)
  let count = 0
  for (const { method, url, schema } of routes) {
    const properties: object = Object(Object(schema?.querystring).properties)
    for (const [name, value] of Object.entries(properties)) {
      const types = [Reflect.get(value, 'type')].flat()
      t.notOk(types.some(type => /^(?:number|integer|boolean)$/.test(type)), `${method} ${url}: ${name}`)
      count++
    }
  }
  t.ok(count > 20, String(count))
})
