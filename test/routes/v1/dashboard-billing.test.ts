import t from 'tap'
import type { Test } from 'tap'
import { nanoFromUsd } from '../../../services/shared/money.ts'
import { buildGateway } from '../../helper.ts'

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
    timestamp: today, line_items: [{ name: 'gpt', cost: 10.0000001 }, { name: 'sora', cost: 100 }]
  })
  t.same(whole.daily_costs.at(-2), { timestamp: today - 86_400, line_items: [] })
  t.match(await of(key), { total_usage: 10.0000001 })
  t.same(await of(key, '?start_date=2026-01-01&end_date=2026-01-03'), {
    object: 'list',
    total_usage: 0,
    daily_costs: [{ timestamp: 1_767_225_600, line_items: [] }, { timestamp: 1_767_312_000, line_items: [] }]
  })
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
