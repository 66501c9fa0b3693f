import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { Webhook as Judge } from 'standardwebhooks'
import { reportAccountBudgets, reportKeyBudgets } from '../../../../services/operations/alerts/budgets.ts'
import { createAlertDelivery } from '../../../../services/operations/alerts/deliver.ts'
import { reportLowBalances } from '../../../../services/operations/alerts/low-balances.ts'
import { signatureHeaders } from '../../../../services/videos/webhooks/sign.ts'
import { createKeys } from '../../../../services/keys/keys.ts'
import { periodAt } from '../../../../services/keys/periods.ts'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import type { Store } from '../../../../services/store/store.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { internetOf, startPlainSite, startSite, type Site } from '../../media/web.ts'

const secret = `whsec_${randomBytes(32).toString('base64')}`
const thresholds = [50, 80, 100]
const never = new AbortController().signal
const log = { info () {}, warn () {}, error () {} }

interface Row {
  id: string
  source: string
  threshold: number
  attempts: number
  body: string
  next: number | null
  delivered: number | null
  error: string | null
}

async function alertsOf (store: Store) {
  const rows = await store.all<Row>(`
    select id, source, threshold, attempts, body, next_attempt_at as next, delivered_at as delivered, last_error as error
    from alert order by created_at, threshold`)
  return rows.map(row => ({ ...row, ...JSON.parse(row.body) }))
}

/** An account with a key whose budget is 1,000 a month. */
async function setUp (store: Store) {
  const [accounts, keys] = [createAccounts(store), createKeys(store)]
  await accounts.create({ id: 'team', name: 'The team' })
  await accounts.deposit({ id: 'd', account: 'team', amountNano: 10_000 })
  const { id, key } = await keys.create({ account: 'team', label: 'app', budget: { limitNano: 1_000, period: 'month' } })
  const { chainAt } = await keys.authenticate(key)
  const [, budget = ''] = chainAt(store.clock())
  await store.run("insert into chain (id, account) values ('team', 'team')")
  return {
    accounts,
    keys,
    id,
    budget,
    /** Charges the account, and the budget, as a commit does. */
    async spend (amountNano: number, at = store.clock()) {
      await store.run('insert into entry (at, debit, credit, amount, kind, chain) values ($1, \'team\', \'revenue\', $2, \'usage\', \'team\')',
        [at, amountNano])
      await store.run('update account set spent = spent + $1 where id in ($2, $3)', [amountNano, 'team', budget])
    }
  }
}

forEachEngine(t, 'each threshold of a key\'s budget is reported once in its period', async (t, { open }) => {
  const store = await open()
  const { id, budget, spend, keys } = await setUp(store)
  await spend(499)
  await reportKeyBudgets(store, thresholds)
  t.same(await alertsOf(store), [])
  await spend(301)
  for (let times = 0; times < 2; times++) await reportKeyBudgets(store, thresholds)
  const found = await alertsOf(store)
  const { name } = periodAt('month', store.clock())
  t.match(found, [
    {
      type: 'budget.threshold_reached',
      timestamp: /Z$/,
      source: budget,
      data: {
        key: id, key_label: 'app', account: 'team', period: name, threshold_percent: 50, budget_nano: 1_000, spent_nano: 800
      }
    },
    { data: { threshold_percent: 80 } }
  ])
  t.match(found[0]?.body, '"spent_usd":0.0000008,')
  t.equal(found.length, 2)
  await spend(5_000)
  await Promise.all([reportKeyBudgets(store, thresholds), reportKeyBudgets(store, thresholds)])
  t.match((await alertsOf(store)).map(({ threshold }) => threshold), [50, 80, 100])
  await store.run('update account set created_at = created_at - 3000000000 where id = $1', [budget])
  await keys.revoke(id)
  await store.run('delete from alert')
  await reportKeyBudgets(store, thresholds)
  t.same(await alertsOf(store), [], 'a key that has ended is not reported')
})

forEachEngine(t, 'the soft budget of an account counts what was spent in its period', async (t, { open }) => {
  const store = await open()
  const { accounts, spend } = await setUp(store)
  const { startsAt, name } = periodAt('day', store.clock())
  await spend(3_000, startsAt - 1)
  await spend(400)
  await accounts.update('team', before => ({ ...before, softBudget: { limitNano: 1_000, period: 'day' } }))
  await reportAccountBudgets(store, thresholds)
  t.same(await alertsOf(store), [], 'what was spent before is none of it')
  await spend(450)
  for (let times = 0; times < 2; times++) await reportAccountBudgets(store, thresholds)
  const data = { key: null, account: 'team', account_name: 'The team', period: name, spent_nano: 850, budget_nano: 1_000 }
  t.match((await alertsOf(store)).map(({ data }) => data), [
    { ...data, threshold_percent: 50 }, { ...data, threshold_percent: 80 }
  ])
  await accounts.update('team', before => ({ ...before, softBudget: { limitNano: 3_000, period: null } }))
  await reportAccountBudgets(store, [100])
  const last = (await alertsOf(store)).at(-1)
  t.match(last?.data, { period: null, spent_nano: 3_850, threshold_percent: 100 }, 'without a period, all')
})

forEachEngine(t, 'a budget that was raised is reported again when its thresholds are reached', async (t, { open }) => {
  const store = await open()
  const { accounts, keys, id, spend } = await setUp(store)
  const softly = async (limitNano: number) =>
    await accounts.update('team', before => ({ ...before, softBudget: { limitNano, period: null } }))
  const report = async () => {
    for (let times = 0; times < 2; times++) {
      await reportKeyBudgets(store, thresholds)
      await reportAccountBudgets(store, thresholds)
    }
    return (await alertsOf(store)).map(({ data }) => `${data.key === null ? 'soft' : 'key'} ${data.threshold_percent}`)
  }
  await softly(1_000)
  await spend(1_000)
  const before = (await report()).toSorted()
  t.same(before, ['key 100', 'key 50', 'key 80', 'soft 100', 'soft 50', 'soft 80'])
  await keys.update(id, { budget: { limitNano: 5_000, period: 'month' } })
  await softly(5_000)
  t.equal((await report()).length, before.length, 'a fifth of it')
  await spend(1_500)
  const after = await alertsOf(store)
  t.same((await report()).slice(after.length).toSorted(), ['key 50', 'soft 50'])
  t.match((await alertsOf(store)).at(-1)?.data, { budget_nano: 5_000, spent_nano: 2_500 })
})

forEachEngine(t, 'a low balance is reported once, until it has risen again', async (t, { open }) => {
  const store = await open()
  const { accounts, spend } = await setUp(store)
  await accounts.create({ id: 'new' })
  await reportLowBalances(store, null)
  await reportLowBalances(store, 10_000)
  t.same(await alertsOf(store), [], 'neither at the limit nor for an account that never had credits')
  await spend(1)
  for (let times = 0; times < 2; times++) await reportLowBalances(store, 10_000)
  t.match(await alertsOf(store), [{ type: 'balance.low', data: { account: 'team', balance_nano: 9_999, limit_nano: 10_000 } }])
  await accounts.update('team', before => ({ ...before, lowBalanceNano: 5_000 }))
  await reportLowBalances(store, 10_000)
  t.equal((await alertsOf(store)).length, 1, 'its own limit goes before')
  await spend(6_000)
  await reportLowBalances(store, 10_000)
  await reportLowBalances(store, null)
  t.match((await alertsOf(store)).map(({ data }) => data.balance_nano), [9_999, 3_999])
})

t.test('messages are signed as in Standard Webhooks', async t => {
  // Source: the test vector of the reference libraries of Standard Webhooks.
  const vector = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampS: 1_614_265_330, body: '{"test": 2432232314}' }
  t.same(signatureHeaders(vector, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']), {
    'webhook-id': vector.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
  })
})

/** A webhook that answers with these statuses, one after another; and what it received. */
async function startReceiver (t: Test, statuses: number[], start: typeof startSite = startSite) {
  const received: { body: string, headers: Record<string, string> }[] = []
  const site: Site = await start(t, async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    received.push({ body: await text(request), headers: Object.fromEntries(headers) })
    response.writeHead(statuses.shift() ?? 200, { location: 'http://127.0.0.1/' }).end()
  })
  return { received, site }
}

const network = internetOf({ 'cdn.example': ['127.0.0.1'], 'private.example': ['10.0.0.1'] })

forEachEngine(t, 'an alert is delivered once, with a signature that others accept', async (t, { open }) => {
  const store = await open()
  const { spend } = await setUp(store)
  await spend(600)
  await reportKeyBudgets(store, thresholds)
  const { site, received } = await startReceiver(t, [])
  const webhook = { url: `https://cdn.example:${site.port}/hook?x=1`, secret }
  const context = { store, log, trustedOrigins: [], network }
  const nodes = Array.from({ length: 4 }, () => createAlertDelivery(context))
  t.teardown(async () => { for (const node of nodes) await node.close() })
  await Promise.all(nodes.map(node => node.deliverDue(webhook, never)))
  await nodes[0]?.deliverDue(webhook, never)
  t.equal(received.length, 1)
  const [message] = received
  const [alert] = await alertsOf(store)
  t.match(new Judge(secret).verify(message?.body ?? '', message?.headers ?? {}), { type: 'budget.threshold_reached', data: alert?.data })
  t.throws(() => new Judge(secret).verify(`${message?.body} `, message?.headers ?? {}))
  t.match(message?.headers, { 'webhook-id': alert?.id, 'content-type': 'application/json', authorization: undefined })
  t.equal(site.requests[0]?.url, '/hook?x=1')
  t.match(alert, { attempts: 1, next: null, delivered: Number, error: null })
  t.equal(nodes.reduce((sum, { counts }) => sum + counts.delivered, 0), 1)
})

forEachEngine(t, 'a failed delivery is tried again, also after a restart, and given up in the end', async (t, { open }) => {
  const store = await open()
  const { spend } = await setUp(store)
  await spend(600)
  await reportKeyBudgets(store, thresholds)
  const { site, received } = await startReceiver(t, [500, 302, 404, 503, 429, 500, 500, 500, 200])
  const webhook = { url: `https://cdn.example:${site.port}/`, secret }
  const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
  for (const [index, waitS] of waits.entries()) {
    const delivery = createAlertDelivery({ store, log, trustedOrigins: [], network })
    await delivery.deliverDue(webhook, never)
    await delivery.deliverDue(webhook, never)
    await delivery.close()
    t.equal(received.length, index + 1, 'not before it is due')
    const [alert] = await alertsOf(store)
    const waitMs = (alert?.next ?? 0) - store.clock()
    t.ok(waitMs > waitS * 1_000 - 3_000 && waitMs <= waitS * 1_100, `${waitMs} ms after attempt ${index + 1}`)
    t.match(alert, { attempts: index + 1, delivered: null, error: /HTTP \d{3}$/ })
    await store.run('update alert set next_attempt_at = 0')
  }
  const last = createAlertDelivery({ store, log, trustedOrigins: [], network })
  t.teardown(() => last.close())
  await last.deliverDue(webhook, never)
  t.match(await alertsOf(store), [{ attempts: 8, next: null, delivered: null }])
  t.same(last.counts, { delivered: 0, failed: 1, givenUp: 1 })
  t.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1, 'one id for all attempts')
  t.ok(received.every(({ body, headers }) => new Judge(secret).verify(body, headers)))
})

forEachEngine(t, 'an alert whose node died while sending is sent by another one', async (t, { open }) => {
  const store = await open()
  const { spend } = await setUp(store)
  await spend(600)
  await reportKeyBudgets(store, thresholds)
  const { site, received } = await startReceiver(t, [])
  // What the dead node has left: its attempt is claimed for a minute.
  await store.run('update alert set attempts = 1, next_attempt_at = now_ms() + 60000')
  const delivery = createAlertDelivery({ store, log, trustedOrigins: [], network })
  t.teardown(() => delivery.close())
  const webhook = { url: `https://cdn.example:${site.port}/`, secret }
  await delivery.deliverDue(webhook, never)
  t.equal(received.length, 0)
  await store.run('update alert set next_attempt_at = now_ms()')
  await delivery.deliverDue(webhook, never)
  t.match(await alertsOf(store), [{ attempts: 2, delivered: Number }])
})

forEachEngine(t, 'a webhook at a private or unencrypted address is called only if it is trusted', async (t, { open }) => {
  const store = await open()
  const { spend } = await setUp(store)
  await spend(600)
  await reportKeyBudgets(store, thresholds)
  const { site, received } = await startReceiver(t, [], startPlainSite)
  const plain = `http://127.0.0.1:${site.port}`
  const untrusted = [plain, 'https://private.example/', `https://127.0.0.1:${site.port}/`, 'https://169.254.169.254/', 'https://[::1]/']
  for (const url of untrusted) {
    const delivery = createAlertDelivery({ store, log, trustedOrigins: [], network: { ...network, isPublic: address => !/^(127|10|169|::1)/.test(address) } })
    await delivery.deliverDue({ url, secret }, never)
    await delivery.close()
    t.match(await alertsOf(store), [{ delivered: null, error: /not lead to a public address|not an HTTPS/ }], url)
    await store.run('update alert set next_attempt_at = 0, attempts = 0')
  }
  t.equal(received.length, 0)
  const trusting = createAlertDelivery({ store, log, trustedOrigins: [plain] })
  t.teardown(() => trusting.close())
  await trusting.deliverDue({ url: `${plain}/hook`, secret }, never)
  t.equal(received.length, 1)
})

forEachEngine(t, 'a node that hangs while it sends changes nothing of what another has done since', async (t, { open }) => {
  const store = await open()
  const { spend } = await setUp(store)
  await spend(600)
  await reportKeyBudgets(store, thresholds)
  const arrived = Promise.withResolvers<void>()
  const woken = Promise.withResolvers<void>()
  const site = await startSite(t, async (_request, response) => {
    arrived.resolve()
    await woken.promise
    response.writeHead(500).end()
  })
  const delivery = createAlertDelivery({ store, log, trustedOrigins: [], network })
  t.teardown(() => delivery.close())
  const sending = delivery.deliverDue({ url: `https://cdn.example:${site.port}/`, secret }, never)
  await arrived.promise
  await store.run('update alert set attempts = 2, delivered_at = now_ms(), next_attempt_at = null')
  woken.resolve()
  await sending
  t.match(await alertsOf(store), [{ attempts: 2, next: null, delivered: Number, error: null }])
})
