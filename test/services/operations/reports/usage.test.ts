import t, { type Test } from 'tap'
import { periodCosts } from '../../../../services/operations/reports/period-costs.ts'
import type { Posting } from '../../../../services/billing/ledger/ledger.ts'
import { rollUpUsage } from '../../../../services/operations/reports/roll-up.ts'
import { sumUsage, usageBatches } from '../../../../services/operations/reports/usage.ts'
import type { UsageDimension } from '../../../../services/operations/reports/dimensions.ts'
import type { UsageSelection, UsageTotals } from '../../../../services/operations/reports/usage.ts'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { createCorrections } from '../../../../services/billing/ledger/corrections.ts'
import { createLedger } from '../../../../services/billing/ledger/create.ts'
import { entryIdSql } from '../../../../services/billing/ledger/entry-id.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import type { Database } from '../../../helpers/engines.ts'
import type { Store, Value } from '../../../../services/store/store.ts'

const day = Date.parse('2026-11-21')
const dayMs = 86_400_000
const always = { from: 0, to: day + 10 * dayMs }

/** As [key, model, hours after midnight, nano-USD, usage, further fields of the posting]. */
const requests: [string, string, number, number, Record<string, number>, Partial<Posting>][] = [
  ['k1', 'gpt', 1, 100, { prompt: 10, completion: 1 }, { provider: 'openai', costNano: 60, tags: { project: 'x' } }],
  ['k1', 'gpt', 23.999, 20, { prompt: 2, completion: 0, cachedRead: 1 }, { provider: 'azure', reportedNano: 25 }],
  ['k1', 'sora', 24, 3_000, { seconds: 4.5 }, { provider: 'openai', tags: { project: 'y', team: 'a b' } }],
  ['k2', 'gpt', 25, 40, { prompt: 4, completion: 4, reasoning: 3 }, { provider: 'openai', costNano: 50, reportedNano: 70 }],
  ['k2', 'claude', 26, 5, { prompt: 5, completion: 5, images: 2 }, {}]
]

/**
 * A ledger with those requests: key k1 of the account acme, k2 of the account team, whose parent is acme.
 * Where the requests are fresh, no entry but the first of each account has an id of its own.
 */
async function createLedgerWithUsage (database: Database, { fresh = false, rolledUp = 0 } = {}) {
  const time = { now: day }
  const store = await database.open(() => time.now)
  const accounts = createAccounts(store)
  await accounts.create({ id: 'acme' })
  await accounts.create({ id: 'team', parent: 'acme' })
  for (const account of ['acme', 'team']) {
    await accounts.deposit({ id: `d-${account}`, account, amountNano: 1_000_000 })
  }
  await store.run("insert into api_key (id, secret_sha256, account, label, created_at) values ('k1', '', 'acme', 'one', 0)")
  const ledger = createLedger({ store })
  for (const [index, [key, model, hours, amountNano, used, more]] of requests.entries()) {
    if (index === rolledUp) await rollUpUsage(store)
    time.now = day + hours * 3_600_000
    const id = `r${index}`
    const chain = key === 'k1' ? ['acme'] : ['team', 'acme']
    const hold = await ledger.reserve({ id, chain, key, amountNano: 10_000, fresh })
    await hold.settle({ amountNano, ref: id, model, usage: used, estimated: model === 'claude', ...more })
  }
  if (rolledUp === requests.length) await rollUpUsage(store)
  await ledger.close()
  return { store }
}

forEachEngine(t, 'a large report is read in small parts, which add up', async (t, database) => {
  const store = await database.open(() => day)
  const accounts = createAccounts(store)
  await accounts.create({ id: 'acme' })
  await accounts.deposit({ id: 'd', account: 'acme', amountNano: 1_000_000 })
  const ledger = createLedger({ store })
  const models = Array.from({ length: 1_200 }, (_, index) => `model-${index}`)
  await Promise.all(models.map(async model => {
    const hold = await ledger.reserve({ id: model, chain: ['acme'], key: 'k', amountNano: 100, fresh: true })
    await hold.settle({ amountNano: 7, ref: model, model, usage: {}, estimated: false })
  }))
  await ledger.close()

  let most = 0
  const reports: Store['reports'] = {
    ...store.reports,
    async all<Row> (sql: string, params?: readonly Value[]) {
      const rows = await store.reports.all<Row>(sql, params)
      most = Math.max(most, rows.length)
      return rows
    }
  }
  const watched = { ...store, reports }
  const seen: string[] = []
  for await (const batch of usageBatches(watched, { ...always, by: ['model'] })) {
    seen.push(...batch.map(({ groups: [model = ''] }) => model))
  }
  t.same(seen.toSorted(), models.toSorted())
  const costs = await periodCosts(watched, { from: day, to: day + dayMs })
  t.match(costs, [{ amountNano: 7 * models.length, items: { length: models.length } }])
  t.equal(most, 1_000, 'the event loop handles few rows at once')
})

/** Runs a test with no entry rolled up, with some, and with all. */
function forEachRollUp (
  name: string, work: (t: Test, database: Database, rolledUp: number) => Promise<void>
): void {
  for (const rolledUp of [0, 3, requests.length]) {
    forEachEngine(t, `${name}, ${rolledUp} entries rolled up`, async (t, database) => await work(t, database, rolledUp))
  }
}

const nothing = {
  groups: [],
  cursor: [],
  requests: 0,
  estimated: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  images: 0,
  seconds: 0,
  amountNano: 0,
  costedRequests: 0,
  costNano: 0,
  costedAmountNano: 0,
  savedNano: 0
}

forEachRollUp('usage is summed up in total, or by the requested dimensions', async (t, database, rolledUp) => {
  const { store } = await createLedgerWithUsage(database, { rolledUp })
  t.same(await sumUsage(store, { by: [], ...always }), [{
    ...nothing,
    requests: 5,
    promptTokens: 21,
    completionTokens: 10,
    cachedTokens: 1,
    reasoningTokens: 3,
    images: 2,
    seconds: 4.5,
    amountNano: 3_165,
    estimated: 1,
    costedRequests: 3,
    costNano: 60 + 25 + 50,
    costedAmountNano: 160
  }])
  t.match(await sumUsage(store, { by: ['model'], ...always }), [
    { groups: ['claude'], requests: 1, promptTokens: 5, completionTokens: 5, images: 2, amountNano: 5, estimated: 1 },
    { groups: ['gpt'], requests: 3, promptTokens: 16, completionTokens: 5, cachedTokens: 1, amountNano: 160 },
    { groups: ['sora'], requests: 1, seconds: 4.5, amountNano: 3_000 }
  ])
  const sums = async (by: UsageDimension[], more: Partial<UsageSelection> = {}) => {
    const rows = await sumUsage(store, { by, ...always, ...more })
    return rows.map(({ groups, requests, amountNano }) => [...groups, requests, amountNano])
  }
  t.same(await sums(['day', 'key']), [
    ['2026-11-21', 'k1', 2, 120],
    ['2026-11-22', 'k1', 1, 3_000],
    ['2026-11-22', 'k2', 2, 45]
  ])
  t.same(await sums(['account']), [['acme', 3, 3_120], ['team', 2, 45]])
  t.same(await sums(['account'], { children: true }), [['acme', 5, 3_165], ['team', 2, 45]])
  t.same(await sums(['account'], { children: true, account: 'team' }), [['team', 2, 45]], 'nothing above the filter')
  t.same(await sums(['label']), [['', 2, 45], ['one', 3, 3_120]])
  t.same(await sums(['provider', 'model']), [
    ['', 'claude', 1, 5], ['azure', 'gpt', 1, 20], ['openai', 'gpt', 2, 140], ['openai', 'sora', 1, 3_000]
  ])
  t.same(await sums(['week', 'month']), [['2026-W47', '2026-11', 5, 3_165]])
  t.same(await sums(['estimated']), [['false', 4, 3_160], ['true', 1, 5]])
  t.same(await sums(['tag:project']), [['', 3, 65], ['x', 1, 100], ['y', 1, 3_000]])
  t.same(await sums(['tag:team', 'tag:none']), [['', '', 4, 165], ['a b', '', 1, 3_000]])
})

forEachRollUp('usage is filtered by time and by what it can be grouped by', async (t, database, rolledUp) => {
  const { store } = await createLedgerWithUsage(database, { rolledUp })
  const cases: [Partial<UsageSelection>, number][] = [
    [{ from: day, to: day + dayMs }, 120],
    [{ from: day + dayMs, to: day + dayMs + 1 }, 3_000],
    [{ from: day, to: day }, 0],
    [{ from: day + 1, to: day + 1 }, 0],
    [{ from: day + 3_600_000, to: day + 3_600_001 }, 100],
    [{ from: day + 3_600_001, to: day + 25 * 3_600_000 + 1 }, 3_060],
    [{ from: day + 3_600_001, to: day + dayMs }, 20],
    [{ from: day, to: day + 25 * 3_600_000 }, 3_120],
    [{ from: 5, to: day + 26 * 3_600_000 + 1 }, 3_165],
    [{ label: 'one' }, 3_120],
    [{ label: 'two' }, 0],
    [{ provider: 'azure' }, 20],
    [{ provider: '' }, 5],
    [{ estimated: true }, 5],
    [{ estimated: false, key: 'k2' }, 40],
    [{ tag: { name: 'project', value: 'y' } }, 3_000],
    [{ tag: { name: 'project', value: '' }, account: 'team' }, 45],
    [{ key: 'k2' }, 45],
    [{ key: 'k2', model: 'gpt' }, 40],
    [{ account: 'acme' }, 3_165],
    [{ account: 'team' }, 45],
    [{ account: 'team', key: 'k1' }, 0]
  ]
  for (const [given, amountNano] of cases) {
    t.match(await sumUsage(store, { by: [], ...always, ...given }), [{ amountNano }], JSON.stringify(given))
  }
})

forEachRollUp('a refund is subtracted from what it takes back, on its own day', async (t, database, rolledUp) => {
  const { store } = await createLedgerWithUsage(database, { fresh: true, rolledUp })
  const corrections = createCorrections(store)
  const entries = await store.all<{ id: string }>(`
    select ${entryIdSql()} as id from entry where ref in ('r0', 'r1') order by ref`)
  t.match(entries, [{ id: /^entry_\d+$/ }, { id: /^entry_\d+$/ }])
  for (const [index, { id }] of entries.entries()) {
    await corrections.refund({ id: `back-${index}`, entry: id, amountNano: 10, at: day + 2 * dayMs })
  }
  const rows = await sumUsage(store, { by: ['day'], ...always, key: 'k1', model: 'gpt' })
  t.match(rows, [
    { groups: ['2026-11-21'], requests: 2, promptTokens: 12, amountNano: 120, costNano: 85, costedAmountNano: 120 },
    { groups: ['2026-11-23'], requests: 0, promptTokens: 0, amountNano: -20, costNano: 0, costedAmountNano: -20 }
  ])
  t.match(await sumUsage(store, { by: ['provider', 'tag:project'], ...always, key: 'k1', model: 'gpt' }), [
    { groups: ['azure', ''], requests: 1, amountNano: 10 }, { groups: ['openai', 'x'], requests: 1, amountNano: 90 }
  ])
})

forEachRollUp('the pages contain the same rows, in any order of dimensions', async (t, database, rolledUp) => {
  const { store } = await createLedgerWithUsage(database, { rolledUp })
  const orders: UsageDimension[][] = [
    ['key'], ['day', 'model'], ['model', 'day', 'key'], ['key', 'model', 'day'], ['week', 'label'], ['month', 'estimated'],
    ['tag:project', 'provider'], ['estimated', 'account']
  ]
  for (const by of orders) {
    const whole = await sumUsage(store, { by, ...always })
    const paged: UsageTotals[] = []
    for (let after: UsageTotals['cursor'] | undefined; ;) {
      const [row] = await sumUsage(store, { by, ...always, limit: 1, after })
      if (row === undefined) break
      paged.push(row)
      after = row.cursor
    }
    t.same(paged, whole, by.join())
  }
})

forEachEngine(t, 'a wrong query is refused', async (t, database) => {
  const store = await database.open()
  const wrong: [string, Partial<UsageSelection>][] = [
    ['from', { from: -1 }],
    ['to', { from: 2, to: 1 }],
    ['to', { to: NaN }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 10_001 }],
    ['after', { after: ['x'] }],
    ['after', { by: ['day', 'key'], after: ['2026-11-21'] }]
  ]
  for (const [param, given] of wrong) {
    await t.rejects(sumUsage(store, { by: [], ...always, ...given }),
      { name: 'GatewayError', status: 400, param }, JSON.stringify(given))
  }
})

forEachEngine(t, 'daily costs cover every day, and each model', async (t, database) => {
  const { store } = await createLedgerWithUsage(database)
  const range = { from: day - dayMs, to: day + 2 * dayMs }
  t.same(await periodCosts(store, { ...range, account: 'acme' }), [
    { startsAt: day - dayMs, amountNano: 0, savedNano: 0, items: [] },
    { startsAt: day, amountNano: 120, savedNano: 0, items: [{ name: 'gpt', amountNano: 120 }] },
    {
      startsAt: day + dayMs,
      amountNano: 3_045,
      savedNano: 0,
      items: [
        { name: 'claude', amountNano: 5 }, { name: 'gpt', amountNano: 40 }, { name: 'sora', amountNano: 3_000 }
      ]
    }
  ])
  t.match(await periodCosts(store, { ...range, key: 'k2' }), [{ amountNano: 0 }, { amountNano: 0 }, { amountNano: 45 }])
})

forEachEngine(t, 'costs cover every week or month that the range touches, by model or tag', async (t, database) => {
  const { store } = await createLedgerWithUsage(database)
  const range = { from: Date.parse('2026-11-18'), to: Date.parse('2026-12-01') }
  t.same(await periodCosts(store, { ...range, account: 'acme', period: 'week', by: 'tag:project' }), [
    {
      startsAt: Date.parse('2026-11-16'),
      amountNano: 3_165,
      savedNano: 0,
      items: [{ name: '', amountNano: 65 }, { name: 'x', amountNano: 100 }, { name: 'y', amountNano: 3_000 }]
    },
    { startsAt: Date.parse('2026-11-23'), amountNano: 0, savedNano: 0, items: [] },
    { startsAt: Date.parse('2026-11-30'), amountNano: 0, savedNano: 0, items: [] }
  ])
  t.match(await periodCosts(store, { ...range, key: 'k2', period: 'month' }), [
    { startsAt: Date.parse('2026-11-01'), amountNano: 45, savedNano: 0, items: [{ name: 'claude' }, { name: 'gpt', amountNano: 40 }] }
  ])
})
