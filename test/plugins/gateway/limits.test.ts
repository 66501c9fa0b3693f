import { once } from 'node:events'
import t from 'tap'
import type { Test } from 'tap'
import { request } from 'undici'
import { startGateway } from '../../helpers/gateway.ts'

const adminKey = 'operator-key-of-this-test'

/** A gateway with a key of the given limits, and requests with it. */
async function limited (t: Test, limits: object, accountLimits: object = {}) {
  const gateway = await startGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey } })
  const admin = (method: 'POST' | 'PATCH', path: string, payload: object) => gateway.app.inject({
    method, url: `/admin${path}`, payload, headers: { authorization: `Bearer ${adminKey}` }
  })
  await admin('PATCH', '/accounts/default', { limits: accountLimits })
  const created = (await admin('POST', '/keys', { account: 'default', limits })).json()
  const ask = async (more: object = {}) => {
    const { statusCode, headers, body } = await request(`${gateway.url}/chat/completions`, {
      method: 'POST',
      headers: { ...gateway.headers, authorization: `Bearer ${created.key}` },
      body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }], ...more })
    })
    return { status: statusCode, headers, body }
  }
  return { ...gateway, admin, created, ask }
}

t.test('a key that has used its requests up is told so as OpenAI does', async t => {
  const { ask, created } = await limited(t, { requests_per_minute: 2 })
  t.same(created.limits, { requests_per_minute: 2, tokens_per_minute: null, concurrent_requests: null })
  t.equal((await ask({ model: 'nobody' })).status, 404)
  t.equal((await ask({ messages: 5 })).status, 400)
  const first = await ask()
  t.match(first, { status: 200, headers: { 'x-ratelimit-limit-requests': '2', 'x-ratelimit-remaining-requests': '1' } })
  t.match(first.headers['x-ratelimit-reset-requests'], /^(\d+m)?[\d.]+m?s$/)
  t.match(await ask({ stream: true }), { status: 200, headers: { 'x-ratelimit-remaining-requests': '0' } },
    'what was refused for itself has not counted')
  const { status, headers, body } = await ask()
  t.equal(status, 429)
  t.match(await body.json(), {
    error: { type: 'requests', code: 'rate_limit_exceeded', param: null, message: /on requests per min \(RPM\): Limit 2, Used 2/ }
  })
  t.ok(Number(headers['retry-after']) >= 1)
  t.equal(Number(headers['retry-after']), Math.ceil(Number(headers['retry-after-ms']) / 1000))
})

t.test('the limits of an account hold for all of its keys', async t => {
  const { ask, url, headers } = await limited(t, { requests_per_minute: 100 }, { requests_per_minute: 2 })
  const answer = await ask()
  t.match(answer.headers, { 'x-ratelimit-limit-requests': '2', 'x-ratelimit-remaining-requests': '1' })
  const body = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
  const other = await request(`${url}/chat/completions`, { method: 'POST', headers, body })
  t.equal(other.statusCode, 200)
  await other.body.dump()
  const refused = await ask()
  t.equal(refused.status, 429)
  t.match(await refused.body.json(), { error: { message: /for account `default`/ } })
})

t.test('tokens are taken for what may be written and corrected to what was', async t => {
  const { ask, url, headers, created } = await limited(t, { tokens_per_minute: 2000 })
  const first = await ask({ max_tokens: 1500 })
  t.ok(Number(first.headers['x-ratelimit-remaining-tokens']) < 500)
  await first.body.dump()
  const second = await ask({ max_tokens: 1500 })
  t.equal(second.status, 200, 'the first one wrote less')
  t.match(await ask({ max_tokens: 5000 }), { status: 429, headers: { 'x-should-retry': 'false' } })
  const leftAfter = async (path: string, body: object): Promise<number> => {
    const authorization = `Bearer ${created.key}`
    const answer = await request(url + path, {
      method: 'POST', headers: { ...headers, authorization }, body: JSON.stringify({ prompt: 'Hello', ...body })
    })
    await answer.body.dump()
    return Number(answer.headers['x-ratelimit-remaining-tokens'])
  }
  t.ok(await leftAfter('/completions', { model: 'sandbox-chat' }) < 2000, 'also for a legacy completion without a limit')
  t.ok(Number.isNaN(await leftAfter('/images/generations', { model: 'sandbox-image', size: '64x64' })), 'not for images')
})

t.test('a request that is over or given up frees its slot', async t => {
  const { ask } = await limited(t, { concurrent_requests: 1 })
  const running = await ask({ stream: true })
  const refused = await ask()
  t.equal(refused.status, 429)
  t.match(await refused.body.json(), { error: { message: /on concurrent requests: Limit 1/ } })
  running.body.destroy()
  await once(running.body, 'close').catch(() => {})
  let status = 429
  while (status === 429) {
    const next = await ask()
    await next.body.dump()
    status = next.status
  }
  t.equal(status, 200)
})

t.test('limits are changed while the gateway runs', async t => {
  const { ask, admin, created } = await limited(t, { requests_per_minute: 1, concurrent_requests: 5 })
  const statusOf = async () => {
    const answer = await ask()
    await answer.body.dump()
    return answer.status
  }
  t.same([await statusOf(), await statusOf()], [200, 429])
  const changed = await admin('PATCH', `/keys/${created.id}`, { limits: { requests_per_minute: null } })
  const after = { requests_per_minute: null, tokens_per_minute: null, concurrent_requests: 5 }
  t.same(changed.json().limits, after)
  t.same([await statusOf(), await statusOf()], [200, 200])
  const wrong = await admin('PATCH', `/keys/${created.id}`, { limits: { requests_per_minute: 0 } })
  t.match(wrong.json(), { error: { param: 'limits.requests_per_minute' } })
})
