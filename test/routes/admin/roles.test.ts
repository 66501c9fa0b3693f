import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { adminRoles } from '../../../schemas/admin/keys.ts'
import { buildAdmin } from './helper.ts'

/** The roles beside `owner` that may use each route. */
const mayUse: Record<string, readonly string[]> = {
  'GET /me': ['operator', 'finance', 'viewer'],
  'GET /accounts': ['operator', 'finance', 'viewer'],
  'POST /accounts': ['operator'],
  'GET /accounts/{id}': ['operator', 'finance', 'viewer'],
  'PATCH /accounts/{id}': ['operator'],
  'POST /accounts/{id}/deposits': ['finance'],
  'POST /accounts/{id}/withdrawals': ['finance'],
  'POST /accounts/{id}/transfers': ['finance'],
  'POST /accounts/{id}/freeze': ['operator'],
  'POST /accounts/{id}/unfreeze': ['operator'],
  'GET /accounts/{id}/webhook-secret': ['operator'],
  'POST /accounts/{id}/webhook-secret/rotate': ['operator'],
  'POST /accounts/{id}/close': [],
  'POST /accounts/{id}/refunds': ['finance'],
  'POST /accounts/{id}/adjustments': ['finance'],
  'GET /accounts/{id}/balance': ['operator', 'finance', 'viewer'],
  'GET /statements': ['operator', 'finance', 'viewer'],
  'GET /entries': ['operator', 'finance', 'viewer'],
  'GET /holds': ['operator', 'finance', 'viewer'],
  'GET /keys': ['operator', 'finance', 'viewer'],
  'POST /keys': ['operator'],
  'GET /keys/{id}': ['operator', 'finance', 'viewer'],
  'PATCH /keys/{id}': ['operator'],
  'POST /keys/{id}/rotate': ['operator'],
  'POST /keys/{id}/revoke': ['operator'],
  'GET /usage': ['operator', 'finance', 'viewer'],
  'GET /requests': ['operator', 'finance', 'viewer'],
  'GET /requests/{id}': ['operator', 'finance', 'viewer'],
  'GET /request-totals': ['operator', 'finance', 'viewer'],
  'POST /ledger/check': ['operator', 'finance', 'viewer'],
  'GET /suspense': ['operator', 'finance', 'viewer'],
  'POST /suspense/{id}/clear': ['finance'],
  'POST /suspense/{id}/write-off': ['finance'],
  'GET /jobs': ['operator', 'finance', 'viewer'],
  'GET /jobs/{id}': ['operator', 'finance', 'viewer'],
  'POST /jobs/{id}/cancel': ['operator'],
  'GET /media': ['operator', 'finance', 'viewer'],
  'GET /providers': ['operator', 'finance', 'viewer'],
  'POST /providers/{id}/probe': ['operator'],
  'GET /live': ['operator', 'finance', 'viewer'],
  'GET /alerts': ['operator', 'finance', 'viewer'],
  'GET /audit': ['operator', 'finance', 'viewer']
}

/** What a user with a session may read, of their own account. */
const forUsers = new Set([
  'GET /me', 'GET /accounts/{id}', 'GET /accounts/{id}/balance', 'GET /entries', 'GET /holds', 'GET /keys',
  'GET /keys/{id}', 'GET /usage',
  'GET /requests', 'GET /requests/{id}', 'GET /request-totals', 'GET /jobs', 'GET /jobs/{id}', 'GET /media'
])

t.test('each role enters the routes that are meant for it, and no others', async t => {
  const { app } = await buildAdmin(t)
  const routes = adminRoutes(app)
  t.same(routes.map(({ method, path }) => `${method} ${path}`).sort(), Object.keys(mayUse).sort())

  for (const role of adminRoles) {
    const { key } = await app.keys.create({ account: 'default', label: role, role })
    for (const { method, path } of routes) {
      // A stream of events has no end; another test reads it.
      if (path === '/live' && (role === 'owner' || mayUse['GET /live']?.includes(role))) continue
      const answer = await app.inject({
        method: method as 'GET',
        url: `/admin${path.replace('{id}', 'nothing')}`,
        headers: { authorization: `Bearer ${key}` },
        // What is not allowed is refused before its body is looked at.
        payload: method === 'GET' ? undefined : { unknown: true }
      })
      const route = `${method} ${path}`
      if (role === 'owner' || mayUse[route]?.includes(role)) {
        t.notOk([401, 403].includes(answer.statusCode), `${role} ${route}: ${answer.statusCode}`)
      } else {
        const { error } = answer.json()
        t.match([answer.statusCode, error], [403, {
          type: 'invalid_request_error', param: null, code: 'insufficient_permissions', message: new RegExp(`is ${role}\\.$`)
        }], `${role} ${route}`)
      }
    }
  }
})

t.test('a user with a session enters what shows their own account, and nothing else', async t => {
  const { app, key } = await buildAdmin(t)
  const signedIn = await app.inject({ method: 'POST', url: '/console/session', payload: { key } })
  const headers = {
    cookie: String(signedIn.headers['set-cookie']).split(';', 1)[0] ?? '', 'x-csrf-token': signedIn.json().csrf_token
  }
  for (const { method, path } of adminRoutes(app)) {
    const url = `/admin${path.replace('{id}', 'nothing')}`
    const payload = method === 'GET' ? undefined : { unknown: true }
    const answer = await app.inject({ method: method as 'GET', url, headers, payload })
    const route = `${method} ${path}`
    if (forUsers.has(route)) t.notOk([401, 403].includes(answer.statusCode), `${route}: ${answer.statusCode}`)
    else t.match([answer.statusCode, answer.json().error.code], [403, 'insufficient_permissions'], route)
  }
})

/** Every documented route under `/admin`. */
function adminRoutes (app: FastifyInstance): { method: string, path: string }[] {
  const paths = Object.entries(app.swagger().paths ?? {}).filter(([path]) => path.startsWith('/admin/'))
  return paths.flatMap(([path, methods]) =>
    Object.keys(methods ?? {}).map(method => ({ method: method.toUpperCase(), path: path.replace('/admin', '') })))
}

t.test('only owners manage admin keys', async t => {
  const { app, ask } = await buildAdmin(t)
  const owner = await app.keys.create({ account: 'default', label: 'boss', role: 'owner' })
  const operator = await app.keys.create({ account: 'default', label: 'ops', role: 'operator' })
  const user = await app.keys.create({ account: 'default', label: 'app' })
  const headers = { authorization: `Bearer ${operator.key}` }
  const refused: [method: 'POST' | 'PATCH', path: string, body?: object][] = [
    ['POST', '/keys', { account: 'default', role: 'viewer' }], ['POST', '/keys', { account: 'default', role: 'owner' }],
    ['PATCH', `/keys/${owner.id}`, { label: 'mine' }], ['POST', `/keys/${owner.id}/rotate`],
    ['POST', `/keys/${owner.id}/revoke`], ['PATCH', `/keys/${operator.id}`, { expires_at: null }]
  ]
  for (const [method, path, body] of refused) {
    const answer = await ask(method, path, body ?? {}, headers)
    t.match(answer, { status: 403, body: { error: { code: 'insufficient_permissions' } } }, path)
    t.notMatch(answer.text, 'sk-tg-')
  }
  t.equal((await ask('POST', '/keys', { account: 'default' }, headers)).status, 201)
  t.equal((await ask('POST', `/keys/${user.id}/rotate`, {}, headers)).status, 200)
  const as = { authorization: `Bearer ${owner.key}` }
  t.match(await ask('POST', '/keys', { account: 'default', role: 'viewer' }, as), { status: 201, body: { role: 'viewer' } })
  t.equal((await ask('POST', `/keys/${operator.id}/revoke`, {}, as)).status, 200)
  t.equal((await ask('GET', '/me', undefined, headers)).status, 401)
})

t.test('an operator learns who they are', async t => {
  const { app, ask } = await buildAdmin(t)
  t.match(await ask('GET', '/me'), {
    status: 200,
    body: { object: 'operator', actor: 'env', label: null, role: 'owner', permissions: ['read', 'operate', 'money', 'own'] }
  })
  const { id, key } = await app.keys.create({ account: 'default', label: 'Bo', role: 'finance' })
  t.match((await ask('GET', '/me', undefined, { authorization: `Bearer ${key}` })).body, {
    actor: `key:${id}`, label: 'Bo', role: 'finance', permissions: ['read', 'money']
  })
  const metrics = await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${key}` } })
  t.equal(metrics.statusCode, 200)
})

t.test('the document says which roles a route is for', async t => {
  const { app } = await buildAdmin(t)
  const { paths } = (await app.inject('/openapi.json')).json()
  t.equal(paths['/admin/accounts/{id}/deposits'].post.description, 'For the roles owner, finance.')
})
