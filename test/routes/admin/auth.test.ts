import t from 'tap'
import { buildGateway, startGateway } from '../../helpers/gateway.ts'
import { adminKey, buildAdmin } from './helper.ts'

const endpoints = [
  ['GET', '/admin/keys'], ['POST', '/admin/keys'], ['GET', '/admin/keys/x'], ['PATCH', '/admin/keys/x'],
  ['POST', '/admin/keys/x/rotate'], ['POST', '/admin/keys/x/revoke'], ['GET', '/admin/accounts'],
  ['POST', '/admin/accounts'], ['GET', '/admin/accounts/x'], ['POST', '/admin/accounts/x/deposits'],
  ['POST', '/admin/accounts/x/refunds'], ['POST', '/admin/accounts/x/adjustments'], ['GET', '/admin/entries'],
  ['GET', '/admin/usage'], ['POST', '/admin/ledger/check'], ['GET', '/admin/jobs'], ['GET', '/admin/jobs/x'],
  ['POST', '/admin/jobs/x/cancel']
] as const

t.test('no endpoint opens to anybody but an admin, and the refusal gives no hint', async t => {
  const { app, key } = await buildAdmin(t)
  const revoked = await app.keys.create({ account: 'default', label: '', role: 'owner' })
  await app.keys.revoke(revoked.id)
  const expired = await app.keys.create({ account: 'default', label: '', role: 'owner', expiresAt: 1 })
  const wrong = [
    key, revoked.key, expired.key, `${adminKey}x`, adminKey.slice(0, -1), adminKey.toUpperCase(),
    'sk-tg-0000000000000000-00000000000000000000000000000000', 'nonsense'
  ]
  for (const [method, url] of endpoints) {
    const none = await app.inject({ method, url, payload: method === 'GET' ? undefined : {} })
    t.match([none.statusCode, none.json().error.code], [401, null], `${method} ${url} without a key`)
    for (const bad of wrong) {
      const answer = await app.inject({
        method, url, headers: { authorization: `Bearer ${bad}` }, payload: method === 'GET' ? undefined : {}
      })
      t.equal(answer.statusCode, 401, `${method} ${url}`)
      t.match(answer.json().error, { code: 'invalid_api_key', message: /^Incorrect API key/ })
      if (bad.length > 20) t.notMatch(answer.body, bad)
    }
  }
})

t.test('the key of the environment and admin keys of the database open it', async t => {
  const { app } = await buildAdmin(t)
  const { key } = await app.keys.create({ account: 'default', label: '', role: 'owner' })
  for (const authorization of [`Bearer ${adminKey}`, `bearer  ${adminKey}`, `Bearer ${key}`]) {
    const answer = await app.inject({ url: '/admin/keys', headers: { authorization } })
    t.equal(answer.statusCode, 200, authorization.slice(0, 10))
  }
})

t.test('without TOLLGATE_ADMIN_KEY only the database says who is an admin', async t => {
  const { app } = await buildGateway(t)
  for (const authorization of ['Bearer ', 'Bearer null', `Bearer ${adminKey}`]) {
    const answer = await app.inject({ url: '/admin/keys', headers: { authorization } })
    t.equal(answer.statusCode, 401, authorization)
  }
})

t.test('the key of the environment does not open the API of users', async t => {
  const { app } = await buildAdmin(t)
  const answer = await app.inject({ url: '/v1/models', headers: { authorization: `Bearer ${adminKey}` } })
  t.equal(answer.statusCode, 401)
})

t.test('over a socket it is the same', async t => {
  const { url } = await startGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey } })
  const admin = new URL('/admin/', url)
  t.equal((await fetch(new URL('accounts', admin))).status, 401)
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const created = await fetch(new URL('accounts', admin), { method: 'POST', headers, body: '{"id": "team"}' })
  t.equal(created.status, 201)
  t.match(await created.json(), { object: 'account', id: 'team' })
  const list = await fetch(new URL('accounts?limit=1', admin), { headers })
  t.match(await list.json(), { object: 'list', data: [{ id: 'default' }], has_more: true })
  const csv = await fetch(new URL('usage?format=csv', admin), { headers })
  t.match(await csv.text(), /^key,model,day,requests/)
})
