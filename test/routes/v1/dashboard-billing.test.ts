import t from 'tap'
import type { Test } from 'tap'
import { nanoFromUsd } from '../../../services/shared/money.ts'
import { buildGateway } from '../../helpers/gateway.ts'

const usd = 1_000_000_000

/** A gateway, what gets a page of it with a key, and what spends with one. */
async function open (t: Test, startingCredit = '12.000000003') {
  const gateway = await buildGateway(t, { env: { TOLLGATE_STARTING_CREDIT: startingCredit } })
  const { app } = gateway
  const get = async (path = '', key = gateway.key) => await app.inject({
    url: `/v1/dashboard/billing${path}`, headers: { authorization: `Bearer ${key}` }
  })
  let count = 0
  const hold = async (amountNano: number, key = gateway.key) => {
    const { id, chainAt } = await app.keys.authenticate(key)
    return await app.ledger.reserve({ id: `h${++count}`, chain: chainAt(Date.now()), key: id, amountNano })
  }
  const spend = async (amountNano: number, key = gateway.key, model = 'gpt') => {
    const held = await hold(amountNano, key)
    // Nobody waits for the disk, as with a request.
    held.settle({ amountNano, ref: 'r', model, usage: { prompt: 1 }, estimated: false })
  }
  const limited = async (limitNano: number) =>
    (await app.keys.create({ account: 'default', label: '', budget: { limitNano, period: 'month' } })).key
  return { ...gateway, get, hold, spend, limited }
}

t.test('the balance is what the books say, and what was spent shows at once', async (t) => {
  const { app, get, spend, hold } = await open(t)
  t.same((await get()).json(), {
    balance: 12.000000003, currency: 'usd', total_spent: 0, available: 12.000000003, held: 0
  })
  await app.accounts.deposit({ id: 'more', account: 'default', amountNano: 1 })
  await spend(usd + 1)
  const held = await hold(3)
  t.same((await get()).json(), {
    balance: 11.000000003, currency: 'usd', total_spent: 1.000000001, available: 11, held: 0.000000003
  })
  await held.release()
  t.match((await get()).json(), { available: 11.000000003, held: 0 })
})

t.test('what is available is the least that account, parents and budget have left', async (t) => {
  const { app, get, spend, hold, limited } = await open(t, '0.0005')
  await app.accounts.create({ id: 'child', parent: 'default' })
  await app.accounts.deposit({ id: 'more', account: 'child', amountNano: 5 * usd })
  await spend(5 * usd)
  const { key } = await app.keys.create({ account: 'child', label: '' })
  t.match((await get('', key)).json(), { balance: 5, available: 0.0005 })
  const narrow = await limited(usd / 10_000)
  t.match((await get('', narrow)).json(), { balance: 0.0005, available: 0.0001 })
  await spend(40_000, narrow)
  const held = await hold(10_000, narrow)
  t.match((await get('', narrow)).json(), { balance: 0.00046, available: 0.00005 })
  await held.release()
  await spend(450_000)
  t.match((await get('', narrow)).json(), { available: 0.00001 }, 'no more than the account has')
  t.match((await get('', key)).json(), { balance: 5, available: 0.00001 })
})

t.test('the figures are exact where doubles are not', async (t) => {
  const { get, spend } = await open(t, '9007199.254740991')
  for (let round = 1; round <= 5; round++) {
    await spend(usd / 100 + round)
    const { body } = await get()
    const [, balance = ''] = /"balance":([\d.]+)/.exec(body) ?? []
    const [, spent = ''] = /"total_spent":([\d.]+)/.exec(body) ?? []
    t.equal(nanoFromUsd(balance) + nanoFromUsd(spent), Number.MAX_SAFE_INTEGER, body)
  }
})

t.test('the subscription says what a key may spend in all', async (t) => {
  const { app, get, spend, limited, key } = await open(t, '12')
  const limitOf = async (of = key) => (await get('/subscription', of)).json()
  t.same(await limitOf(), {
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: 12,
    hard_limit_usd: 12,
    system_hard_limit_usd: 12,
    access_until: 253_402_300_799
  })
  const narrow = await limited(5 * usd)
  const wide = await limited(500 * usd)
  t.match(await limitOf(narrow), { hard_limit_usd: 5 })
  t.match(await limitOf(wide), { hard_limit_usd: 12 }, 'no more than the account has')
  await spend(2 * usd, narrow)
  await spend(9 * usd)
  t.match(await limitOf(), { hard_limit_usd: 12 })
  t.match(await limitOf(narrow), { hard_limit_usd: 3 }, 'its own 2 and the 1 that is left of the account')
  t.match(await limitOf(wide), { hard_limit_usd: 1 })

  const expiring = await app.keys.create({ account: 'default', label: '', expiresAt: 4_000_000_000_999 })
  t.match(await limitOf(expiring.key), { access_until: 4_000_000_000 })
})

t.test('the usage of today is in cents, of the account or of a key with a budget', async (t) => {
  const { get, spend, limited } = await open(t)
  const key = await limited(5 * usd)
  await spend(usd / 10 + 1, key)
  await spend(usd, undefined, 'sora')
  const today = Math.floor(Date.now() / 86_400_000) * 86_400
  const of = async (key?: string, query = '') => (await get(`/usage${query}`, key)).json()

  const whole = await of()
  t.match(whole, { object: 'list', total_usage: 110.0000001 })
  t.equal(whole.daily_costs.length, 100)
  t.same(whole.daily_costs.at(-1), {
    timestamp: today, saved: 0, line_items: [{ name: 'gpt', cost: 10.0000001 }, { name: 'sora', cost: 100 }]
  })
  t.same(whole.daily_costs.at(-2), { timestamp: today - 86_400, saved: 0, line_items: [] })
  t.match(await of(key), { total_usage: 10.0000001 })
  t.same(await of(key, '?start_date=2026-01-01&end_date=2026-01-03'), {
    object: 'list',
    total_usage: 0,
    total_saved: 0,
    daily_costs: [1_767_225_600, 1_767_312_000].map(timestamp => ({ timestamp, saved: 0, line_items: [] }))
  })
})

t.test('a key sums up its own usage by period and tag, and exports it', async (t) => {
  const { app, get, spend, key } = await open(t)
  const other = (await app.keys.create({ account: 'default', label: '' })).key
  await spend(usd, other, 'sora')
  await spend(usd / 10)
  const { id, chainAt } = await app.keys.authenticate(key)
  const tagged = await app.ledger.reserve({ id: 'tagged', chain: chainAt(Date.now()), key: id, amountNano: 5 })
  tagged.settle({
    amountNano: 5, ref: 'r', model: '=cmd', usage: { prompt: 7, completion: 2 }, estimated: false, costNano: 1, tags: { project: 'x' }
  })
  const of = async (query: string) => (await get(`/usage?${query}`)).json()
  t.match(await of(''), { total_usage: 110.0000005 }, 'of the account')
  t.match(await of('scope=key'), { total_usage: 10.0000005 })
  const month = await of('scope=key&by=month,tag:project')
  t.match(month.daily_costs.at(-1), { line_items: [{ name: '', cost: 10 }, { name: 'x', cost: 0.0000005 }] })
  t.ok(month.daily_costs.length <= 5)
  const { headers, body } = await get('/usage?scope=key&format=csv&by=model,tag:project')
  t.match(headers, { 'content-type': 'text/csv; charset=utf-8', 'content-disposition': /usage\.csv/ })
  t.equal(body, [
    'model,tag:project,requests,estimated_requests,prompt_tokens,completion_tokens,cached_tokens,reasoning_tokens,images,' +
      'seconds,cost_usd,saved_usd',
    "'=cmd,x,1,0,7,2,0,0,0,0,0.000000005,0.00",
    'gpt,,1,0,1,0,0,0,0,0,0.10,0.00',
    ''
  ].join('\r\n'), 'without what the operator pays')
  for (const by of ['key', 'account', 'provider', 'label', 'color', 'day,week', 'model,tag:project']) {
    const answer = await get(`/usage?by=${by}`)
    t.match([answer.statusCode, answer.json()], [400, { error: { param: 'by', code: 'invalid_value' } }], by)
  }
})

t.test('dates that make no sense are answered like OpenAI answers', async (t) => {
  const { get } = await open(t)
  const cases = [
    ['start_date=yesterday', 'start_date', 'invalid_value'],
    ['start_date=2026-01-02&end_date=2026-01-01', 'end_date', 'invalid_value'],
    ['start_date=2026-01-01&start_date=2026-01-02', 'start_date', 'invalid_type'],
    [`start_date=${'1'.repeat(65)}`, 'start_date', 'string_above_max_length']
  ]
  for (const [query, param, code] of cases) {
    const answer = await get(`/usage?${query}`)
    t.equal(answer.statusCode, 400, `?${query}`)
    t.match(answer.json(), { error: { message: /^Invalid /, type: 'invalid_request_error', param, code } })
  }
  for (const path of ['', '/subscription', '/usage']) t.equal((await get(path, 'sk-wrong')).statusCode, 401)
})

t.test('a key may ask for its money only so often, and other requests do not count', async (t) => {
  const { app, key } = await buildGateway(t, { env: { TOLLGATE_BILLING_RPM: '6' } })
  const { key: other } = await app.keys.create({ account: 'default', label: '' })
  const get = async (path: string, of = key) => await app.inject({
    url: `/v1/${path}`, headers: { authorization: `Bearer ${of}` }
  })
  const paths = ['dashboard/billing', 'dashboard/billing/usage', 'dashboard/billing/subscription']
  for (const path of [...paths, ...paths]) t.match(await get(path), { statusCode: 200 }, path)
  const refused = await get('dashboard/billing/usage')
  t.match(refused, {
    statusCode: 429,
    headers: { 'retry-after': /^\d+$/, 'retry-after-ms': /^\d+$/, 'x-ratelimit-limit-requests': '6' }
  })
  t.match(refused.json(), {
    error: {
      message: /^Rate limit reached for billing requests of key `.+` on requests per min \(RPM\): Limit 6, Used 6/,
      type: 'requests',
      param: null,
      code: 'rate_limit_exceeded'
    }
  })
  t.match(await get('models'), { statusCode: 200 })
  t.match(await get('dashboard/billing', other), { statusCode: 200 })
})
