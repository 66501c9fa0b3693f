import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { forEachEngine } from '../../helpers/engines.ts'
import { startGateway, type Gateway } from '../../helpers/gateway.ts'
import { adminKey, buildAdmin } from './helper.ts'
import { runningMs } from '../../helpers/running-time.ts'

async function chat ({ url, key }: Pick<Gateway, 'url' | 'key'>) {
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 })
  })
  return { status: answer.status, body: await answer.json() as { error?: { code: string, message: string } } }
}

/** Asks again for two seconds until the answer has this status. */
async function chatUntil (status: number, gateway: Pick<Gateway, 'url' | 'key'>) {
  const deadlineMs = runningMs() + 2_000
  for (;;) {
    const answer = await chat(gateway)
    if (answer.status === status || runningMs() > deadlineMs) return answer
    await sleep(50)
  }
}

forEachEngine(t, 'a frozen account is refused on every node within two seconds, and served again', async (t, { engine, url }) => {
  const env = { DATABASE_URL: url, TOLLGATE_ADMIN_KEY: adminKey }
  const first = await startGateway(t, { env })
  const nodes = engine === 'postgres' ? [first, Object.assign(await startGateway(t, { env }), { key: first.key })] : [first]
  const admin = async (path: string, body: object) => {
    const answer = await fetch(first.url.replace('/v1', `/admin${path}`), {
      method: 'POST', headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }, body: JSON.stringify(body)
    })
    t.ok(answer.ok, path)
    return await answer.json() as Record<string, unknown>
  }
  await admin('/accounts', { id: 'team', parent: 'default' })
  await admin('/accounts/default/transfers', { to: 'team', amount_usd: 1 })
  const { key: below } = await admin('/keys', { account: 'team' })
  const keys = [first.key, String(below)]
  for (const node of nodes) for (const key of keys) t.equal((await chat({ ...node, key })).status, 200)

  // A stream that runs while the account is frozen ends as usual.
  const stream = await fetch(`${first.url}/chat/completions`, {
    method: 'POST',
    headers: first.headers,
    body: JSON.stringify({
      model: 'sandbox-chat', stream: true, messages: [{ role: 'user', content: 'sandbox:delay 300\nHello' }]
    })
  })
  t.match(await admin('/accounts/default/freeze', { reason: 'r' }), { state: 'frozen', frozen_at: /Z$/ })
  t.match(await stream.text(), /data: \[DONE\]/)
  for (const node of nodes) {
    for (const key of keys) {
      const { status, body: { error } } = await chatUntil(403, { ...node, key })
      t.match([status, error], [403, { code: 'account_frozen', message: /is frozen/ }])
    }
    const models = await fetch(`${node.url}/models`, { headers: { authorization: `Bearer ${node.key}` } })
    t.equal(models.status, 200, 'what costs nothing is still answered')
  }
  await admin('/accounts/default/unfreeze', {})
  for (const node of nodes) {
    for (const key of keys) t.equal((await chatUntil(200, { ...node, key })).status, 200)
  }
})

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`accounts are renamed, moved and closed over HTTP (${engine})`, async t => {
    const { ask } = await buildAdmin(t, engine)
    await ask('POST', '/accounts', { id: 'org' })
    await ask('POST', '/accounts', { id: 'team', parent: 'org' })
    t.match(await ask('POST', '/accounts/default/transfers', { id: 't1', to: 'team', amount_usd: 4, reason: 'Q4' }), {
      status: 201, body: { id: 't1', kind: 'transfer', debit: 'default', credit: 'team', amount_usd: 4, reason: 'Q4', actor: 'env' }
    })
    t.match(await ask('POST', '/accounts/default/transfers', { id: 't1', to: 'team', amount_usd: 4 }), { status: 200 })
    t.match((await ask('GET', '/accounts/org')).body, { balance_usd: 4, allocated_usd: 4, available_usd: 4, state: 'active' })
    t.match(await ask('POST', '/accounts/org/withdrawals', { amount: 'all', reason: 'r' }), {
      status: 400, body: { error: { code: 'insufficient_credits', message: /allocated to accounts below/ } }
    })
    t.match(await ask('PATCH', '/accounts/team', { name: 'Team', limits: { tokens_per_minute: 7 } }), {
      status: 200, body: { name: 'Team', limits: { tokens_per_minute: 7 } }
    })
    const watched = { soft_budget: { amount_usd: 50, period: 'month' }, low_balance: { amount_usd: 0.5 } }
    t.match(await ask('PATCH', '/accounts/team', watched), { status: 200, body: { ...watched, limits: { tokens_per_minute: 7 } } })
    t.match(await ask('PATCH', '/accounts/team', { soft_budget: null }), { body: { soft_budget: null, low_balance: { amount_usd: 0.5 } } })
    for (const wrong of [{ soft_budget: { amount_usd: 0 } }, { soft_budget: { period: 'day' } }, { low_balance: { amount_usd: -1 } }]) {
      t.equal((await ask('PATCH', '/accounts/team', wrong)).status, 400)
    }
    t.match(await ask('PATCH', '/accounts/team', { parent: null }), { status: 409, body: { error: { code: 'account_not_frozen' } } })
    await ask('POST', '/accounts/team/freeze')
    t.match(await ask('PATCH', '/accounts/team', { parent: null }), { status: 200, body: { parent: null, name: 'Team', balance_usd: 4 } })
    t.match((await ask('GET', '/accounts/org')).body, { balance_usd: 0, allocated_usd: 0 })
    t.match(await ask('POST', '/accounts/team/close'), { status: 409, body: { error: { code: 'account_not_empty' } } })
    t.match(await ask('POST', '/accounts/team/close', { take_out: true }), { status: 200, body: { state: 'closed', closed_at: /Z$/ } })
    t.match(await ask('POST', '/keys', { account: 'team' }), { status: 400, body: { error: { param: 'account', message: /closed/ } } })
    t.match(await ask('POST', '/accounts/team/deposits', { amount_usd: 1 }), { status: 409, body: { error: { code: 'account_closed' } } })
    t.match((await ask('POST', '/ledger/check')).body, { ok: true })
  })
}

t.test('what is available on an account is what its parents have as well', async t => {
  const { app, ask } = await buildAdmin(t)
  await ask('POST', '/accounts', { id: 'team', parent: 'default' })
  await ask('POST', '/accounts/default/transfers', { to: 'team', amount_usd: 8 })
  const { body: { id, key } } = await ask('POST', '/keys', { account: 'team', budget: { amount_usd: 5 } })
  t.match((await ask('GET', '/accounts/team')).body, { balance_usd: 8, available_usd: 8 })
  const hold = await app.ledger.reserve({ id: 'r', chain: ['default'], key: id, amountNano: 9_000_000_000, durable: true })
  t.match((await ask('GET', '/accounts/team')).body, { balance_usd: 8, available_usd: 1 })
  t.match((await ask('GET', '/accounts')).body.data, [{ id: 'default', available_usd: 1 }, { id: 'team', available_usd: 1 }])
  const billing = async () => (await app.inject({ url: '/v1/dashboard/billing', headers: { authorization: `Bearer ${key}` } })).json()
  t.match(await billing(), { balance: 8, available: 1 })
  await hold.release()
  t.match(await billing(), { balance: 8, available: 5 }, 'and what the key may spend')
})
