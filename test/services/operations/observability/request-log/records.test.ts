import t from 'tap'
import { readRecords, type RecordQuery } from '../../../../../services/operations/observability/request-log/records.ts'
import type { Value } from '../../../../../services/store/store.ts'
import { forEachEngine } from '../../../../helpers/engines.ts'
import { createRandom, type Random } from '../../../billing/ledger/random.ts'

interface Call { provider: string, failure: string | null }
interface Row {
  at: number
  account: string
  api_key: string
  model: string
  asked: string | null
  provider: string
  status: number
  outcome: number
  calls: Call[]
}

const seed = Number(process.env.SEED ?? Math.trunc(Math.random() * 2 ** 31))

function randomRow (random: Random): Row {
  const pick = <Item>(items: readonly Item[]): Item => items[random.integer(0, items.length - 1)] as Item
  const [status, outcome] = pick([[200, 0], [200, 1], [200, 3], [429, 2], [502, 2], [499, 1]] as const)
  const failed = Array.from({ length: pick([0, 0, 1, 2]) }, () => ({ provider: pick(['a', 'b', 'c_d']), failure: 'server_error' }))
  const answered = status === 200
    ? [{ provider: pick(['a', 'b', 'c_d']), failure: outcome === 3 ? 'connection' : null }]
    : []
  return {
    // Several rows end in one millisecond, and not in the order of their numbers.
    at: random.integer(1, 12),
    account: pick(['acme', 'other']),
    api_key: pick(['k1', 'k2']),
    model: pick(['m1', 'm2', '']),
    asked: pick(['m1', 'm2', 'auto', null]),
    provider: answered[0]?.provider ?? '',
    status,
    outcome,
    calls: [...failed, ...answered]
  }
}

/** Whether a row meets a filter, worked out in another way. */
function isMet (row: Row, filter: Omit<RecordQuery, 'limit'>): boolean {
  const { account, key, model, provider, failedAt, status, outcome, from, to } = filter
  const is5xx = row.outcome === 2 && row.status >= 500
  const outcomes: Record<NonNullable<RecordQuery['outcome']>, boolean> = {
    succeeded: row.outcome === 0,
    client_gone: row.outcome === 1,
    refused: row.outcome === 2 && row.status < 500,
    failed: is5xx,
    broken_off: row.outcome === 3,
    error: is5xx || row.outcome === 3
  }
  return (account === undefined || row.account === account) &&
    (key === undefined || row.api_key === key) &&
    (model === undefined || row.model === model || row.asked === model) &&
    (provider === undefined || row.calls.some(call => call.provider === provider)) &&
    (failedAt === undefined || row.calls.some(call => call.provider === failedAt && call.failure !== null)) &&
    (status === undefined || String(row.status).startsWith(status.replace('xx', ''))) &&
    (outcome === undefined || outcomes[outcome]) &&
    (from === undefined || row.at >= from) && (to === undefined || row.at < to)
}

function randomFilter (random: Random): Omit<RecordQuery, 'limit'> {
  const maybe = <Item>(items: readonly Item[]): Item | undefined =>
    random.next() < 0.3 ? items[random.integer(0, items.length - 1)] : undefined
  return {
    account: maybe(['acme', 'none']),
    key: maybe(['k1']),
    model: maybe(['m1', 'auto', 'none']),
    provider: maybe(['a', 'c_d', 'cxd']),
    failedAt: maybe(['a', 'b', 'c_d']),
    status: maybe(['200', '4xx', '5xx', '2xx']),
    outcome: maybe(['succeeded', 'client_gone', 'refused', 'failed', 'broken_off', 'error'] as const),
    from: maybe([3, 5]),
    to: maybe([6, 9])
  }
}

forEachEngine(t, `lists have what meets their filters, in the order of time, seed ${seed}`, async (t, { open }) => {
  const store = await open()
  const random = createRandom(seed)
  const rows = Array.from({ length: 150 }, () => randomRow(random))
  for (const { at, account, api_key: key, model, asked, provider, status, outcome, calls } of rows) {
    const called = [calls.length, JSON.stringify(calls)]
    const values: Value[] = [at, key, account, model, asked, provider, status, outcome, ...called]
    await store.run(`
      insert into request_log (request, at, api_key, account, route, model, asked, provider, status, outcome, attempts,
        calls, prompt_tokens, completion_tokens, cost_nano, total_ms, weight)
      values ('req', $1, $2, $3, '/v1/chat/completions', $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, 1, 1)`, values)
  }
  const numbered = rows.map((row, index) => ({ ...row, seq: index + 1 }))
    .sort((one, other) => other.at - one.at || other.seq - one.seq)
  for (let round = 0; round < 150; round++) {
    const filter = randomFilter(random)
    const found: number[] = []
    let after: RecordQuery['after']
    do {
      const page = await readRecords(store, { ...filter, after, limit: 7 })
      found.push(...page.map(({ seq }) => seq))
      after = page.length === 7 ? page.at(-1) : undefined
    } while (after !== undefined)
    t.same(found, numbered.filter(row => isMet(row, filter)).map(({ seq }) => seq), JSON.stringify(filter))
  }
})
