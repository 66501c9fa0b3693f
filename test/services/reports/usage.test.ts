import t from 'tap'
import { dailyCosts } from '../../../services/reports/daily-costs.ts'
import { sumUsage } from '../../../services/reports/usage.ts'
import type { UsageDimension, UsageSelection, UsageTotals } from '../../../services/reports/usage.ts'
import { createAccounts } from '../../../services/ledger/accounts.ts'
import { createCorrections } from '../../../services/ledger/corrections.ts'
import { createLedger } from '../../../services/ledger/create.ts'
import { entryIdSql } from '../../../services/ledger/entry-id.ts'
import { forEachEngine } from '../../engines.ts'
import type { Database } from '../../engines.ts'

const day = Date.parse('2026-11-21')
const dayMs = 86_400_000
const always = { from: 0, to: day + 10 * dayMs }

/** As [key, model, hours after midnight, nano-USD, usage]. */
const requests: [string, string, number, number, Record<string, number>][] = [
  ['k1', 'gpt', 1, 100, { prompt: 10, completion: 1 }],
  ['k1', 'gpt', 23.999, 20, { prompt: 2, completion: 0, cachedRead: 1 }],
  ['k1', 'sora', 24, 3_000, { seconds: 4.5 }],
  ['k2', 'gpt', 25, 40, { prompt: 4, completion: 4 }],
  ['k2', 'claude', 26, 5, { prompt: 5, completion: 5 }]
]

/**
 * A ledger with those requests: key k1 of the account acme, k2 of the account team, whose parent is acme.
 * Where the requests are fresh, no entry but the first of each account has an id of its own.
 */
async function createLedgerWithUsage (database: Database, { fresh = false } = {}) {
  const store = await database.open()
  const time = { now: day }
  const clock = () => time.now
  const accounts = createAccounts(store, clock)
  await accounts.create({ id: 'acme' })
  await accounts.create({ id: 'team', parent: 'acme' })
  for (const account of ['acme', 'team']) {
    await accounts.deposit({ id: `d-${account}`, account, amountNano: 1_000_000 })
  }
  const ledger = createLedger({ store, clock })
  for (const [index, [key, model, hours, amountNano, used]] of requests.entries()) {
    time.now = day + hours * 3_600_000
    const id = `r${index}`
    const chain = key === 'k1' ? ['acme'] : ['team', 'acme']
    const hold = await ledger.reserve({ id, chain, key, amountNano: 10_000, fresh })
    await hold.settle({ amountNano, ref: id, model, usage: used, estimated: model === 'claude' })
  }
  await ledger.close()
  return { store }
}

const nothing = { key: null, model: null, day: null, estimated: 0, promptTokens: 0, completionTokens: 0 }

forEachEngine(t, 'usage is summed up in total, or by the requested dimensions', async (t, database) => {
  const { store } = await createLedgerWithUsage(database)
  t.same(await sumUsage(store, { by: [], ...always }), [
    { ...nothing, requests: 5, promptTokens: 21, completionTokens: 10, amountNano: 3_165, estimated: 1 }
  ])
  t.same(await sumUsage(store, { by: ['model'], ...always }), [
    { ...nothing, model: 'claude', requests: 1, promptTokens: 5, completionTokens: 5, amountNano: 5, estimated: 1 },
    { ...nothing, model: 'gpt', requests: 3, promptTokens: 16, completionTokens: 5, amountNano: 160 },
    { ...nothing, model: 'sora', requests: 1, amountNano: 3_000 }
  ])
  const rows = await sumUsage(store, { by: ['day', 'key'], ...always })
  t.same(rows.map(({ day, key, requests, amountNano }) => [day, key, requests, amountNano]), [
    ['2026-11-21', 'k1', 2, 120],
    ['2026-11-22', 'k1', 1, 3_000],
    ['2026-11-22', 'k2', 2, 45]
  ])
})

forEachEngine(t, 'usage is filtered by time, key, model, or an account with those below it', async (t, database) => {
  const { store } = await createLedgerWithUsage(database)
  const cases: [Partial<UsageSelection>, number][] = [
    [{ from: day, to: day + dayMs }, 120],
    [{ from: day + dayMs, to: day + dayMs + 1 }, 3_000],
    [{ from: day, to: day }, 0],
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

forEachEngine(t, 'a refund is subtracted from its key and model, on its own day', async (t, database) => {
  const { store } = await createLedgerWithUsage(database, { fresh: true })
  const corrections = createCorrections(store)
  const entries = await store.all<{ id: string }>(`
    select ${entryIdSql()} as id from entry where ref in ('r0', 'r1') order by ref`)
  t.match(entries, [{ id: /^entry_\d+$/ }, { id: /^entry_\d+$/ }])
  for (const [index, { id }] of entries.entries()) {
    await corrections.refund({ id: `back-${index}`, entry: id, amountNano: 10, at: day + 2 * dayMs })
  }
  const rows = await sumUsage(store, { by: ['day'], ...always, key: 'k1', model: 'gpt' })
  t.match(rows, [
    { day: '2026-11-21', requests: 2, promptTokens: 12, amountNano: 120 },
    { day: '2026-11-23', requests: 0, promptTokens: 0, amountNano: -20 }
  ])
})

forEachEngine(t, 'the pages contain the same rows, in any order of dimensions', async (t, database) => {
  const { store } = await createLedgerWithUsage(database)
  const orders: UsageDimension[][] = [['key'], ['day', 'model'], ['model', 'day', 'key'], ['key', 'model', 'day']]
  for (const by of orders) {
    const whole = await sumUsage(store, { by, ...always })
    const paged: UsageTotals[] = []
    for (let after: string[] | undefined; ;) {
      const [row] = await sumUsage(store, { by, ...always, limit: 1, after })
      if (row === undefined) break
      paged.push(row)
      after = by.map((dimension) => row[dimension] ?? '')
    }
    t.same(paged, whole, by.join())
  }
})

forEachEngine(t, 'a wrong query is refused', async (t, database) => {
  const store = await database.open()
  const wrong: [string, Partial<UsageSelection>][] = [
    ['by', { by: ['day', 'day'] }],
    ['from', { from: -1 }],
    ['to', { from: 2, to: 1 }],
    ['to', { to: NaN }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 10_001 }],
    ['after', { after: ['x'] }],
    ['after', { by: ['day'], after: ['x'] }],
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
  t.same(await dailyCosts(store, { ...range, account: 'acme' }), [
    { startsAt: day - dayMs, amountNano: 0, models: [] },
    { startsAt: day, amountNano: 120, models: [{ model: 'gpt', amountNano: 120 }] },
    {
      startsAt: day + dayMs,
      amountNano: 3_045,
      models: [
        { model: 'claude', amountNano: 5 }, { model: 'gpt', amountNano: 40 }, { model: 'sora', amountNano: 3_000 }
      ]
    }
  ])
  t.match(await dailyCosts(store, { ...range, key: 'k2' }), [{ amountNano: 0 }, { amountNano: 0 }, { amountNano: 45 }])
})
