import Fastify from 'fastify'
import t from 'tap'
import type { Test } from 'tap'
import { Client } from 'undici'
import auth from '../../../plugins/library/auth.ts'
import accounts from '../../../plugins/gateway/accounts.ts'
import errors from '../../../plugins/gateway/errors.ts'
import extensions from '../../../plugins/gateway/extensions.ts'
import trace from '../../../plugins/gateway/request-record.ts'
import sessions from '../../../plugins/gateway/sessions.ts'
import store from '../../../plugins/gateway/store.ts'
import { createToken } from '../../../services/keys/authenticate.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'

async function build (t: Test) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(trace)
  await app.register(errors)
  await app.register(store, { url: 'sqlite::memory:' })
  await app.register(accounts)
  await app.register(extensions, { plugins: [] })
  await app.register(sessions, { publicBaseUrl: null })
  await app.register(auth)
  app.get('/open', () => 'open')
  await app.register(async (scope) => {
    scope.addHook('onRequest', scope.authenticate)
    scope.get('/closed', (request) => request.apiKey)
  })
  await createAccounts(app.store).create({ id: 'acme' })
  const { id, key } = await app.keys.create({ account: 'acme', label: 'laptop' })
  const get = (authorization?: string, url = '/closed') =>
    app.inject({ url, headers: authorization === undefined ? {} : { authorization } })
  return { app, get, id, key }
}

t.test('a good key opens the scope and is known to the handler, the first time and later', async (t) => {
  const { get, id, key } = await build(t)
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const response = await get(`${scheme} ${key}`)
    t.equal(response.statusCode, 200)
    t.match(response.json(), { id, account: 'acme', label: 'laptop', expiresAt: null, revokedAt: null })
  }
})

t.test('clients that share a connection are told apart', async t => {
  const { app, id, key } = await build(t)
  const other = await app.keys.create({ account: 'acme', label: 'phone' })
  const client = new Client(await app.listen({ port: 0 }))
  t.teardown(() => client.close())
  const sockets = new Set<unknown>()
  app.server.on('connection', socket => sockets.add(socket))
  async function ask (given: string) {
    const { statusCode, body } = await client.request({
      method: 'GET', path: '/closed', headers: { authorization: `Bearer ${given}` }
    })
    return [statusCode, (await body.json() as { id?: string }).id]
  }
  const almost = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  for (const given of [key, key]) t.same(await ask(given), [200, id])
  t.same(await ask(almost), [401, undefined])
  t.same(await ask(`${key}0`), [401, undefined])
  for (const given of [other.key, other.key]) t.same(await ask(given), [200, other.id])
  t.same(await ask(key), [200, id])
  await app.keys.revoke(id)
  t.same(await ask(key), [401, undefined])
  t.equal(sockets.size, 1)
})

t.test('routes outside the scope need no key', async (t) => {
  const { get } = await build(t)
  t.equal((await get(undefined, '/open')).body, 'open')
})

t.test('without a bearer token the answer is OpenAI\'s 401 with code null', async (t) => {
  const { get, key } = await build(t)
  for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', key]) {
    const response = await get(authorization)
    t.equal(response.statusCode, 401, String(authorization))
    t.equal(response.headers['www-authenticate'], 'Bearer')
    t.match(response.json(), {
      error: {
        message: /^You didn't provide an API key\. .*\(i\.e\. Authorization: Bearer YOUR_KEY\)/,
        type: 'invalid_request_error',
        param: null,
        code: null
      }
    })
  }
})

t.test('a wrong key is OpenAI\'s 401, the key masked', async (t) => {
  const { get } = await build(t)
  const { key } = createToken()
  for (const attempt of ['first', 'again']) {
    const response = await get(`Bearer ${key}`)
    t.equal(response.statusCode, 401, attempt)
    t.equal(response.headers['www-authenticate'], 'Bearer')
    const masked = `${key.slice(0, 8)}****${key.slice(-4)}`
    t.same(response.json(), {
      error: {
        message: `Incorrect API key provided: ${masked}. Ask the operator of this gateway for a valid key.`,
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_api_key'
      }
    })
  }
})

t.test('a key revoked through the same server ends with its next use', async (t) => {
  const { app, get, id, key } = await build(t)
  t.equal((await get(`Bearer ${key}`)).statusCode, 200)
  await app.keys.revoke(id)
  const response = await get(`Bearer ${key}`)
  t.equal(response.statusCode, 401)
  t.match(response.json(), { error: { code: 'invalid_api_key', message: /revoked/ } })
})

t.test('a database that cannot be asked is 503, never 401', async (t) => {
  const { app, get, key } = await build(t)
  await app.store.close()
  const response = await get(`Bearer ${key}`)
  t.equal(response.statusCode, 503)
  t.ok(response.headers['retry-after'])
  t.match(response.json(), { error: { type: 'service_unavailable_error', code: 'service_unavailable' } })
})

t.test('a check that the database refuses is 503 and says nothing of the reason', async (t) => {
  const { app, get, key } = await build(t)
  await app.store.run('drop table api_key')
  const response = await get(`Bearer ${key}`)
  t.equal(response.statusCode, 503)
  t.notMatch(response.body, /api_key|table/)
})

t.test('closing the server closes the store', async (t) => {
  const { app } = await build(t)
  await app.close()
  await t.rejects(app.store.get('select 1'), { name: 'StoreUnavailable' })
})
