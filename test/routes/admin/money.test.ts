import t from 'tap'
import type { Test } from 'tap'
import { amounts, notAmounts } from '../../helpers/amount-cases.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { adminKey, buildAdmin } from './helper.ts'
import type { AdminGateway } from './helper.ts'

/** Runs a test against a gateway on each engine. */
function onEachEngine (name: string, work: (t: Test, gateway: AdminGateway) => Promise<void>): void {
  for (const engine of ['sqlite', 'postgres'] as const) {
    t.test(`${name} (${engine})`, async t => await work(t, await buildAdmin(t, engine)))
  }
}

onEachEngine('an account is created, paid into and shown', async (t, { ask }) => {
  t.match(await ask('POST', '/accounts', { id: 'team', name: 'The team' }), { status: 201, body: { id: 'team' } })
  t.match(await ask('POST', '/accounts', { id: 'team', name: 'The team' }), { status: 200, body: { id: 'team' } })
  t.match(await ask('POST', '/accounts', { id: 'team' }), { status: 409, body: { error: { param: 'id' } } })
  t.match(await ask('POST', '/accounts/team/deposits', { amount_nano: 9_000_000_000_000_001 }), { status: 201 })
  const { text, body } = await ask('GET', '/accounts/team')
  t.match(body, { credits_nano: 9_000_000_000_000_001, available_nano: 9_000_000_000_000_001, held_nano: 0 })
  t.match(text, '"balance_usd":9000000.000000001,')
  t.match((await ask('GET', '/accounts')).body.data, [{ id: 'default' }, { id: 'team' }])
  t.match(await ask('GET', '/accounts/nobody'), { status: 404, body: { error: { code: 'account_not_found' } } })
})

onEachEngine('a posting is booked once under its name, be it in the body or the header', async (t, { ask }) => {
  const path = '/accounts/default/deposits'
  const first = await ask('POST', path, { id: 'd1', amount_usd: 2.5 })
  t.match(first, { status: 201, body: { object: 'entry', id: 'd1', kind: 'deposit', amount_usd: 2.5 } })
  const again = [
    await ask('POST', path, { id: 'd1', amount_usd: 2.5 }),
    await ask('POST', path, { amount_usd: 2.5 }, { 'idempotency-key': 'd1' }),
    await ask('POST', path, { id: 'd1', amount_nano: 2_500_000_000 }, { 'idempotency-key': 'd1' })
  ]
  for (const answer of again) t.match(answer, { status: 200, body: first.body })
  t.match(await ask('POST', path, { id: 'd1', amount_usd: 3 }), { status: 409, body: { error: { param: 'id' } } })
  t.match(await ask('POST', path, { id: 'd1', amount_usd: 3 }, { 'idempotency-key': 'd2' }), { status: 400 })
  t.match(await ask('GET', '/accounts/default'), { body: { balance_usd: 12.5 } })
})

onEachEngine('an amount given as text is stored exactly, also where a number is not', async (t, { ask }) => {
  const deposit = async (amount: unknown, account = 'default') =>
    await ask('POST', `/accounts/${account}/deposits`, { amount_usd: amount })
  await ask('POST', '/accounts', { id: 'rich' })
  t.match(await deposit('9007199.254740991', 'rich'), { status: 201, body: { amount_nano: Number.MAX_SAFE_INTEGER } })
  t.match(await ask('GET', '/accounts/rich'), { text: '"credits_usd":9007199.254740991,' })
  t.match(await deposit('0.000000001', 'rich'), {
    status: 400, body: { error: { param: 'amount_usd', message: /rich.* more than \$9,007,199\.254740991 in its lifetime/ } }
  })
  for (const wrong of ['', 'a lot', '1e3', ' 1', '1,5', '0.0000000001', '9007199.254740992', '-1', 9007199.254740991]) {
    t.match(await deposit(wrong), { status: 400, body: { error: { param: 'amount_usd' } } }, String(wrong))
  }
  t.match(await ask('POST', '/accounts/default/adjustments', { amount_usd: '-0.1', reason: 'r' }), {
    status: 201, body: { amount_nano: 100_000_000, debit: 'default' }
  })
  const budget = { amount_usd: '8999999.123456789' }
  t.match(await ask('POST', '/keys', { account: 'default', budget }), {
    status: 201, body: { budget: { amount_nano: 8_999_999_123_456_789 } }
  })
})

onEachEngine('an amount given as text follows the one rule, and a refusal says what to write', async (t, { ask }) => {
  for (const [index, [text, nano]] of amounts.entries()) {
    await ask('POST', '/accounts', { id: `a${index}` })
    const booked = await ask('POST', `/accounts/a${index}/deposits`, { amount_usd: text })
    t.match(booked, { status: 201, body: { amount_nano: nano } }, text)
  }
  const before = (await ask('GET', '/accounts')).body
  for (const [text, message] of notAmounts) {
    const refusal = { status: 400, body: { error: { param: 'amount_usd', code: 'invalid_value', message } } }
    const amount = { amount_usd: text }
    t.match(await ask('POST', '/accounts/a0/deposits', amount), refusal, text)
    t.match(await ask('POST', '/keys', { account: 'a0', budget: amount }), refusal, text)
    t.match(await ask('PATCH', '/accounts/a0', { low_balance: amount }), refusal, text)
  }
  t.same((await ask('GET', '/accounts')).body, before)
})

onEachEngine('ten deposits at once under one name are one', async (t, { ask }) => {
  const answers = await Promise.all(Array.from({ length: 10 }, () =>
    ask('POST', '/accounts/default/deposits', { id: 'once', amount_usd: 1 })))
  t.same(answers.map(({ status }) => status).sort(), [...Array(9).fill(200), 201])
  t.match(await ask('GET', '/accounts/default'), { body: { balance_usd: 11 } })
})

onEachEngine('adjustments and refunds are entries of their own', async (t, { app, ask }) => {
  t.match(await ask('POST', '/accounts/default/adjustments', { amount_usd: -1, reason: 'a mistake' }), {
    status: 201, body: { kind: 'adjust', debit: 'default', credit: 'funding', reason: 'a mistake' }
  })
  t.match(await ask('POST', '/accounts/default/adjustments', { amount_usd: -10, reason: 'too much' }), { status: 400 })

  const { body: key } = await ask('POST', '/keys', { account: 'default' })
  const hold = await app.ledger.reserve({ id: 'r1', chain: ['default'], key: key.id, amountNano: 2_000_000_000 })
  const settled = hold.settle({
    amountNano: 1_500_000_000, ref: 'r1', model: 'chat', usage: { prompt: 1, completion: 2 }, estimated: true
  })
  await settled
  const { body: { data: [{ id: entry }] } } = await ask('GET', '/entries?kind=usage')
  t.match(entry, /^entry_\d+$/)
  t.match(await ask('POST', '/accounts/default/refunds', { entry, amount_usd: 0.5 }), {
    status: 201, body: { kind: 'refund', reverses: entry, amount_nano: 500_000_000 }
  })
  t.match(await ask('POST', '/accounts/default/refunds', { entry, amount_usd: 1.5 }), { status: 400 })
  t.match(await ask('POST', '/accounts/default/refunds', { entry: 'nothing' }), { status: 404 })
  t.match(await ask('GET', '/accounts/default'), { body: { credits_usd: 9, spent_usd: 1, balance_usd: 8 } })

  const entries = await ask('GET', '/entries?kind=usage&account=default')
  t.match(entries.body.data, [{ id: entry, key: key.id, model: 'chat', usage: { prompt: 1 }, estimated: true }])
  t.match(await ask('POST', '/ledger/check'), { status: 200, body: { object: 'ledger_check', ok: true } })
})

onEachEngine('an amount in suspense is shown, cleared once, and counted', async (t, { app, ask }) => {
  const { body: key } = await ask('POST', '/keys', { account: 'default' })
  const hold = await app.ledger.reserve({ id: 'r1', chain: ['default'], key: key.id, amountNano: 1_000_000_000 })
  await hold.settle({ amountNano: 3_000_000_000, ref: 'r1', model: 'chat', usage: { prompt: 1 }, estimated: false })
  const metrics = await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${adminKey}` } })
  t.match(metrics.body, /^tollgate_suspense_entries 1$/m)
  t.match(metrics.body, /^tollgate_suspense_usd 2$/m)
  t.match(metrics.body, /^tollgate_ledger_overages_total 1$/m)

  const { body: { data: [item] } } = await ask('GET', '/suspense?state=open&account=default')
  t.match(item, { object: 'suspense_item', ref: 'r1', amount_usd: 2, reason: 'over_hold', closing: null })
  t.match(await ask('GET', '/suspense?state=lost'), { status: 400, body: { error: { param: 'state' } } })
  t.match(await ask('POST', `/suspense/${item.id}/clear`, {}), { status: 400, body: { error: { param: 'reason' } } })
  const first = await ask('POST', `/suspense/${item.id}/clear`, { reason: 'it was right' })
  t.match(first, { status: 201, body: { id: item.id, state: 'cleared', closing: { actor: 'env', reason: 'it was right' } } })
  t.match(await ask('POST', `/suspense/${item.id}/clear`, { reason: 'again' }), { status: 200, body: first.body })
  t.match(await ask('POST', `/suspense/${item.id}/write-off`, { reason: 'no' }),
    { status: 409, body: { error: { code: 'entry_closed' } } })
  t.match(await ask('POST', '/suspense/entry_0/write-off', { reason: 'no' }), { status: 404 })
  t.match((await ask('GET', '/accounts/default')).body, { spent_usd: 3 })
  t.match(await ask('POST', '/ledger/check'), { body: { ok: true } })
})

onEachEngine('usage is summed up as JSON and as CSV', async (t, { app, ask }) => {
  const { body: key } = await ask('POST', '/keys', { account: 'default' })
  for (const id of ['r1', 'r2']) {
    const hold = await app.ledger.reserve({ id, chain: ['default'], key: key.id, amountNano: 3 })
    await hold.settle({ amountNano: 3, ref: id, model: '=chat', usage: { prompt: 1, completion: 2 }, estimated: false })
  }
  t.match((await ask('GET', '/usage?by=model')).body, {
    object: 'list', data: [{ model: '=chat', requests: 2, prompt_tokens: 2, cost_nano: 6, key: null, day: null }]
  })
  const ofKey = await ask('GET', `/usage?by=key,day&key=${key.id}&limit=1`)
  t.match(ofKey.body, { data: [{ key: key.id, requests: 2 }] })
  t.match((await ask('GET', '/usage?to=2000-01-01')).body, { data: [] })

  const lines = 'model,requests,estimated_requests,prompt_tokens,completion_tokens,cached_tokens,reasoning_tokens,' +
    'images,seconds,cost_usd,saved_usd,provider_cost_usd,margin_usd\r\n' +
    '\'=chat,2,0,2,4,0,0,0,0,0.000000006,0.00,,\r\n'
  const named = await ask('GET', '/usage?by=model&format=csv')
  for (const csv of [named, await ask('GET', '/usage?by=model', undefined, { accept: 'text/csv' })]) {
    t.match(csv, { status: 200, headers: { 'content-type': 'text/csv; charset=utf-8' } })
    t.equal(csv.text, lines)
  }
  t.match((await ask('GET', '/usage?format=json', undefined, { accept: 'text/csv' })).body, { object: 'list' })
})

onEachEngine('usage is grouped and filtered by whatever it has', async (t, { app, ask }) => {
  await ask('POST', '/accounts', { id: 'team', parent: 'default' })
  const { body: key } = await ask('POST', '/keys', { account: 'team', label: 'ci' })
  const hold = await app.ledger.reserve({ id: 'r1', chain: ['default'], key: 'other', amountNano: 9 })
  hold.settle({ amountNano: 3, ref: 'r1', model: 'chat', provider: 'p', usage: { prompt: 1 }, estimated: true })
  const free = await app.ledger.reserve({ id: 'r2', chain: ['team', 'default'], key: key.id, amountNano: 0 })
  free.settle({
    amountNano: 0, ref: 'r2', model: 'own', provider: 'gpu', usage: { prompt: 5 }, estimated: false, costNano: 2, tags: { project: 'x' }
  })
  const data = async (query: string) => (await ask('GET', `/usage?${query}`)).body.data
  t.match(await data('by=account,label,provider,estimated,tag:project'), [
    { account: 'default', label: '', provider: 'p', estimated: true, tags: { project: '' }, prompt_tokens: 1, margin_nano: null },
    { account: 'team', label: 'ci', provider: 'gpu', estimated: false, tags: { project: 'x' }, prompt_tokens: 5, margin_nano: -2 }
  ])
  t.match(await data('by=account&children=true'), [{ account: 'default', requests: 2 }, { account: 'team', requests: 1 }])
  t.match(await data('by=week,month'), [{ week: /^\d{4}-W\d\d$/, month: /^\d{4}-\d\d$/, requests: 2 }])
  for (const filter of ['label=ci', 'provider=gpu', 'estimated=false', 'tag=project%3Dx', 'account=team', 'model=own']) {
    t.match(await data(`by=model&${filter}`), [{ model: 'own', requests: 1 }], filter)
    t.equal((await data(`by=model&${filter}`)).length, 1, filter)
  }
  const wrong = [['by', 'by=color'], ['by', 'by=tag:1'], ['tag', 'tag=x'], ['children', 'children=yes']] as const
  for (const [param, query] of wrong) {
    t.match(await ask('GET', `/usage?${query}`), { status: 400, body: { error: { param } } }, query)
  }
})

t.test('what is wrong with a request is said of its field', async t => {
  const { ask } = await buildAdmin(t)
  const wrong: ['POST' | 'GET', string, object | undefined, string][] = [
    ['POST', '/accounts', { id: 'a', credits: 5 }, 'credits'],
    ['POST', '/accounts', { id: 'a', parent: 'nobody' }, 'parent'],
    ['POST', '/accounts', { id: 'revenue' }, 'id'],
    ['POST', '/accounts/default/deposits', {}, 'amount_usd'],
    ['POST', '/accounts/default/deposits', { amount_usd: 'five' }, 'amount_usd'],
    ['POST', '/accounts/default/deposits', { amount_usd: 0 }, 'amount_usd'],
    ['POST', '/accounts/default/deposits', { amount_usd: 1e-10 }, 'amount_usd'],
    ['POST', '/accounts/default/deposits', { amount_usd: 1, amount_nano: 1 }, 'amount_nano'],
    ['POST', '/accounts/default/deposits', { amount_nano: 1.5 }, 'amount_nano'],
    ['POST', '/accounts/default/deposits', { id: 'usage:r', amount_usd: 1 }, 'id'],
    ['POST', '/accounts/default/deposits', { id: 'entry_1', amount_usd: 1 }, 'id'],
    ['POST', '/accounts/default/adjustments', { amount_usd: 1 }, 'reason'],
    ['POST', '/accounts/default/refunds', { amount_usd: 1 }, 'entry'],
    ['GET', '/entries?kind=gift', undefined, 'kind'],
    ['GET', '/entries?from=yesterday!', undefined, 'from'],
    ['GET', '/usage?by=color', undefined, 'by'],
    ['GET', '/usage?to=2026-02-30', undefined, 'to'],
    ['GET', '/usage?format=csv&limit=5', undefined, 'limit']
  ]
  for (const [method, path, body, param] of wrong) {
    const answer = await ask(method, path, body)
    t.match(answer, { status: 400, body: { error: { param } } }, `${path} ${JSON.stringify(body)}`)
  }
  t.match(await ask('GET', '/nothing'), { status: 404, body: { error: { code: 'unknown_url' } } })
  t.match(await ask('DELETE', '/accounts'), { status: 405, headers: { allow: /GET/ } })
})

t.test('while the database cannot be asked, nothing is refused for good', async t => {
  const { app, ask } = await buildAdmin(t)
  t.intercept(app.store.reports, 'all', { value: async () => { throw new StoreUnavailable(new Error('gone')) } })
  t.match(await ask('GET', '/accounts'), { status: 503, headers: { 'retry-after': '1' } })
  const csv = await ask('GET', '/usage?format=csv')
  t.match(csv, { status: 503, headers: { 'retry-after': '1', 'content-disposition': undefined } })
})
