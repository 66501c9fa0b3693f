import t from 'tap'
import { chainId } from '../../../../services/billing/ledger/types.ts'
import { parseDimensions } from '../../../../services/operations/reports/dimensions.ts'
import { rollUpUsage } from '../../../../services/operations/reports/roll-up.ts'
import { sumUsage } from '../../../../services/operations/reports/usage.ts'
import type { Queries, Store } from '../../../../services/store/store.ts'
import { StoreUnavailable } from '../../../../services/store/store.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { createNetwork } from '../../billing/ledger/simulation.ts'
import { createRandom, type Random } from '../../billing/ledger/random.ts'

const dayMs = 86_400_000

interface Entry {
  kind: 'usage' | 'refund'
  at: number
  amount: number
  key: string
  model: string
  provider: string | null
  usage: Record<string, unknown> | null
  /** Of the usage that a refund takes back. */
  origin: Entry | null
}

async function insert (queries: Queries, entry: Entry, id: string): Promise<void> {
  const { kind, at, amount, key, model, provider, usage, origin } = entry
  const [debit, credit] = kind === 'usage' ? ['acme', 'revenue'] : ['revenue', 'acme']
  await queries.run(`
    insert into entry (
      idempotency_key, at, debit, credit, amount, kind, model, provider, usage, api_key, chain, reverses)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'acme', (select seq from entry where idempotency_key = $11))`,
  [id, at, debit, credit, amount, kind, model, provider, usage && JSON.stringify(usage), key,
    origin && idOf(origin)])
}

const ids = new Map<Entry, string>()
const idOf = (entry: Entry): string => ids.get(entry) ?? ''

function randomEntry (random: Random, before: readonly Entry[]): Entry {
  const at = random.integer(0, 5) * dayMs + random.integer(0, dayMs - 1)
  const origin = random.next() < 0.2 ? random.pick(before.filter(({ kind }) => kind === 'usage')) ?? null : null
  if (origin !== null) {
    const { key, model } = origin
    return { kind: 'refund', at, amount: random.integer(1, 5), key, model, provider: null, usage: null, origin }
  }
  const optional = <T>(value: T): T | undefined => random.next() < 0.5 ? value : undefined
  const usage = {
    prompt: random.integer(0, 100),
    completion: random.integer(0, 100),
    cost: optional(random.integer(0, 50)),
    reported: optional(random.integer(0, 50)),
    tags: optional({ project: `p${random.integer(1, 2)}` })
  }
  const [key, model] = [`k${random.integer(1, 2)}`, `m${random.integer(1, 2)}`]
  const amount = random.integer(0, 100)
  return { kind: 'usage', at, amount, key, model, provider: optional('x') ?? null, usage, origin }
}

interface Sums { requests: number, promptTokens: number, amountNano: number, costNano: number }

/** What a report should say, worked out in another way. */
function expected (entries: readonly Entry[], from: number, to: number) {
  const rows = new Map<string, Sums>()
  for (const { kind, at, amount, key, provider, usage, origin } of entries) {
    if (at < from || at >= to) continue
    const used = origin?.usage ?? usage
    const tags = used?.tags as { project?: string } | undefined
    const group = [key, (origin ?? { provider }).provider ?? '', tags?.project ?? ''].join(' ')
    const row = rows.get(group) ?? { requests: 0, promptTokens: 0, amountNano: 0, costNano: 0 }
    row.requests += kind === 'usage' ? 1 : 0
    row.promptTokens += Number(usage?.prompt ?? 0)
    row.amountNano += kind === 'usage' ? amount : -amount
    row.costNano += Number(usage?.cost ?? usage?.reported ?? 0)
    rows.set(group, row)
  }
  return [...rows].sort(([one], [other]) => one < other ? -1 : 1)
}

async function reported (store: Store, from: number, to: number) {
  const rows = await sumUsage(store, { by: parseDimensions('key,provider,tag:project'), from, to })
  return rows.map(({ groups, requests, promptTokens, amountNano, costNano }) =>
    [groups.join(' '), { requests, promptTokens, amountNano, costNano }] as const)
    .sort(([one], [other]) => one < other ? -1 : 1)
}

forEachEngine(t, 'reports are exact whenever nodes roll entries up, and fail', async (t, { open }) => {
  const store = await open()
  await store.run("insert into account (id, name, currency, created_at) values ('acme', '', 'usd', 0)")
  await store.run("insert into chain (id, account) values ($1, 'acme')", [chainId(['acme'])])
  const seed = Date.now() >>> 0
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const network = createNetwork(store)
  const nodes = [network.connect(), network.connect(), network.connect()]
  const entries: Entry[] = []
  for (let round = 0; round < 40; round++) {
    for (let count = random.integer(0, 20); count > 0; count--) {
      const entry = randomEntry(random, entries)
      ids.set(entry, `e${entries.length}`)
      await insert(store, entry, idOf(entry))
      entries.push(entry)
    }
    for (const node of nodes) node.weather = random.weighted([[3, 'well'], [1, 'away'], [1, 'answer lost']])
    const running = nodes.filter(() => random.next() < 0.7)
    await Promise.all(running.map(async node => {
      await rollUpUsage(node, { chunk: random.integer(1, 15) }).catch(error => {
        if (!(error instanceof StoreUnavailable)) throw error
      })
    }))
    const from = random.next() < 0.5 ? random.integer(0, 3) * dayMs : random.integer(0, 3 * dayMs)
    const to = random.next() < 0.5 ? from + random.integer(0, 4) * dayMs : from + random.integer(0, 4 * dayMs)
    t.same(await reported(store, from, to), expected(entries, from, to), `round ${round}, ${from} to ${to}`)
  }
  await rollUpUsage(store)
  t.match(await store.get('select seq from usage_progress'), { seq: entries.length })
  t.match(await store.get('select cast(sum(requests) as bigint) as requests from usage_day'),
    { requests: entries.filter(({ kind }) => kind === 'usage').length })
  t.equal(await rollUpUsage(store), 0)
})

forEachEngine(t, 'numbers of providers that add up beyond every limit keep reports working', async (t, { open }) => {
  const store = await open()
  const usage = JSON.stringify({
    prompt: Number.MAX_SAFE_INTEGER, completion: 1e21, images: -5, seconds: 1e300, cost: 9e15, reported: 9e15
  })
  const add = async (count: number) => {
    for (let index = 0; index < count; index++) {
      await store.run(`insert into entry (at, debit, credit, amount, kind, usage, api_key, chain)
        values (0, 'acme', 'revenue', 1, 'usage', $1, 'k', 'acme')`, [usage])
    }
  }
  const most = Number.MAX_SAFE_INTEGER
  const bounded = {
    promptTokens: most,
    completionTokens: most,
    images: 0,
    seconds: most / 1_000,
    costNano: most
  }
  await add(3)
  t.match(await sumUsage(store, { by: [], from: 0, to: dayMs }), [{ requests: 3, amountNano: 3, ...bounded }])
  await rollUpUsage(store)
  await add(3)
  await rollUpUsage(store)
  t.match(await sumUsage(store, { by: [], from: 0, to: dayMs }), [{ requests: 6, amountNano: 6, ...bounded }])
})

forEachEngine(t, 'an entry whose transaction ends after later ones is rolled up too', async (t, { open }) => {
  const [store, other] = [await open(), await open()]
  const entry: Entry = {
    kind: 'usage', at: 0, amount: 1, key: 'k', model: 'm', provider: null, usage: {}, origin: null
  }
  await insert(store, entry, 'first')
  // SQLite has one writer at a time, so its numbers are in order.
  if (store.engine === 'postgres') {
    await store.transaction(async queries => {
      // A busy machine needs longer for the rest than a transaction may be idle.
      await queries.run('set local idle_in_transaction_session_timeout = 0')
      await insert(queries, entry, 'slow')
      await insert(other, entry, 'fast')
      t.equal(await rollUpUsage(other), 0, 'the number between them is not known to be unused')
      t.match(await sumUsage(other, { by: [], from: 0, to: dayMs }), [{ requests: 2 }])
    })
    const slow = Promise.withResolvers<void>()
    const inserted = Promise.withResolvers<void>()
    const ended = store.transaction(async queries => {
      await insert(queries, entry, 'slower')
      inserted.resolve()
      await slow.promise
    })
    await inserted.promise
    await insert(other, entry, 'faster')
    const rolledUp = rollUpUsage(other)
    slow.resolve()
    await ended
    t.equal(await rolledUp, 5)
  }
  await rollUpUsage(store)
  t.same(await store.get('select cast(sum(requests) as bigint) as requests from usage_day'),
    await store.get('select count(*) as requests from entry'))
})
