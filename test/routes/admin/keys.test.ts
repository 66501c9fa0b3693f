import t from 'tap'
import { buildAdmin } from './helper.ts'

t.test('the life of a key', async t => {
  const { app, ask } = await buildAdmin(t)
  const created = await ask('POST', '/keys', {
    account: 'default', label: 'app', models: ['sandbox-*'], budget: { amount_usd: 0.1, period: 'day' }
  })
  t.equal(created.status, 201)
  t.match(created.body, { object: 'key', role: 'user', budget: { amount_usd: 0.1, amount_nano: 100_000_000 } })
  const { id, key } = created.body
  const models = async (bearer: string) =>
    (await app.inject({ url: '/v1/models', headers: { authorization: `Bearer ${bearer}` } })).statusCode
  t.equal(await models(key), 200)

  const shown = await ask('GET', `/keys/${id}`)
  t.notMatch(shown.text, key.split('-').at(-1))
  t.match(shown, { status: 200, body: { id, label: 'app', models: ['sandbox-*'] } })

  const changed = await ask('PATCH', `/keys/${id}`, { label: 'renamed', budget: null, expires_at: '2100-01-01' })
  const expiry = '2100-01-01T00:00:00.000Z'
  t.match(changed, { status: 200, body: { label: 'renamed', budget: null, expires_at: expiry } })

  const rotated = await ask('POST', `/keys/${id}/rotate`, { grace_seconds: 0 })
  t.match(rotated, { status: 200, body: { id } })
  t.same([await models(rotated.body.key), await models(key)], [200, 401])
  t.match(await ask('POST', `/keys/${id}/rotate`), { status: 200 }, 'without a body')

  t.match(await ask('POST', `/keys/${id}/revoke`), { status: 200, body: { revoked_at: String } })
  t.equal(await models(rotated.body.key), 401)
  t.match(await ask('PATCH', `/keys/${id}`, {}), { status: 409, body: { error: { code: 'key_revoked' } } })
})

t.test('an admin key manages and does not spend', async t => {
  const { app, ask } = await buildAdmin(t)
  const { body } = await ask('POST', '/keys', { account: 'default', role: 'owner' })
  const headers = { authorization: `Bearer ${body.key}` }
  t.equal((await app.inject({ url: '/admin/accounts', headers })).statusCode, 200)
  t.equal((await app.inject({ url: '/v1/models', headers })).statusCode, 401)
})

t.test('keys are listed page by page', async t => {
  const { ask } = await buildAdmin(t)
  for (const label of ['a', 'b']) await ask('POST', '/keys', { account: 'default', label })
  const first = await ask('GET', '/keys?limit=2&account=default')
  t.match(first.body, { object: 'list', has_more: true, next: String })
  t.equal(first.body.data.length, 2)
  const second = await ask('GET', `/keys?limit=2&account=default&after=${first.body.next}`)
  t.match(second.body, { data: [{ label: 'first key' }], has_more: false, next: null })
})

t.test('what is wrong with a request is said of its field', async t => {
  const { ask } = await buildAdmin(t)
  const account = 'default'
  const wrong: ['POST' | 'GET', string, object | undefined, string][] = [
    ['POST', '/keys', {}, 'account'],
    ['POST', '/keys', { account: 'nobody' }, 'account'],
    ['POST', '/keys', { account, lable: 'typo' }, 'lable'],
    ['POST', '/keys', { account, label: 5 }, 'label'],
    ['POST', '/keys', { account, role: 'root' }, 'role'],
    ['POST', '/keys', { account, models: [] }, 'models'],
    ['POST', '/keys', { account, models: 'gpt-*' }, 'models'],
    ['POST', '/keys', { account, budget: { limit: 5 } }, 'budget.limit'],
    ['POST', '/keys', { account, budget: { amount_usd: 5, period: 'year' } }, 'budget.period'],
    ['POST', '/keys', { account, expires_at: 'tomorrow evening' }, 'expires_at'],
    ['POST', '/keys/x/rotate', { grace_seconds: -1 }, 'grace_seconds'],
    ['GET', '/keys?limit=0', undefined, 'limit'],
    ['GET', '/keys?limit=1001', undefined, 'limit'],
    ['GET', '/keys?limit=ten', undefined, 'limit'],
    ['GET', '/keys?after=x', undefined, 'after'],
    ['GET', '/keys?page=2', undefined, 'page']
  ]
  for (const [method, path, body, param] of wrong) {
    const answer = await ask(method, path, body)
    t.match(answer, { status: 400, body: { error: { param } } }, `${path} ${JSON.stringify(body)}`)
  }
  t.match(await ask('GET', '/keys/nobody'), { status: 404, body: { error: { code: 'key_not_found' } } })
  t.match(await ask('POST', '/keys/nobody/revoke'), { status: 404 })
})
