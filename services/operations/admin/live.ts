import type { LiveFigures } from '../../../schemas/admin/live.ts'
import { sumUsage } from '../reports/usage.ts'
import { exactUsd } from '../reports/exact-json.ts'
import { isoTime } from '../../shared/iso-time.ts'
import type { Store } from '../../store/store.ts'

const spanMs = 60_000
const dayMs = 86_400_000
/** Figures from reports are at most this old. */
const spendMaxAgeMs = 15_000

/** The current counts of this node with all its workers. */
export interface NodeCounts { requests: number, streams: number, polls: number }

/** Creates the figures of `GET /admin/live`. Clients share one reading within `maxAgeMs`. */
export function createLiveFigures (
  { store, node, lamps, maxAgeMs = 1_500 }: {
    store: Pick<Store, 'get' | 'all' | 'reports' | 'engine' | 'clock'>
    node: () => Promise<NodeCounts>
    lamps: () => LiveFigures['providers']
    maxAgeMs?: number
  }
) {
  const spendToday = cached(spendMaxAgeMs, store.clock, async () => {
    const now = store.clock()
    const [totals] = await sumUsage(store, { by: [], from: now - now % dayMs, to: now + dayMs })
    return totals?.amountNano ?? 0
  })

  async function read (): Promise<LiveFigures> {
    const now = store.clock()
    const [requests, waiting, jobs, spentNano, counts] = await Promise.all([
      recentRequests(store, now),
      countOf(store, 'waiter', ''),
      countOf(store, 'job', 'where finished_at is null'),
      spendToday(),
      node()
    ])
    return {
      object: 'live',
      at: isoTime(now),
      requests_per_second: requests.all / (spanMs / 1000),
      error_rate: requests.all === 0 ? 0 : requests.failed / requests.all,
      waiting_clients: waiting,
      running_jobs: jobs,
      spent_today_usd: exactUsd(spentNano),
      spent_today_nano: spentNano,
      node: counts,
      providers: lamps()
    }
  }

  return cached(maxAgeMs, store.clock, read)
}

/** Requests of all nodes in the last minute, weighted where requests are sampled. */
async function recentRequests (
  { get }: Pick<Store, 'get'>, now: number
): Promise<{ all: number, failed: number }> {
  const row = await get<{ all: number, failed: number }>(`
    select cast(coalesce(sum(weight), 0) as bigint) as "all",
      cast(coalesce(sum(case when outcome = 3 or (outcome = 2 and status >= 500) then weight else 0 end), 0) as bigint) as "failed"
    from request_log where at >= $1`, [now - spanMs])
  return row ?? { all: 0, failed: 0 }
}

async function countOf ({ get }: Pick<Store, 'get'>, table: string, where: string): Promise<number> {
  const row = await get<{ count: number }>(`select cast(count(*) as bigint) as count from ${table} ${where}`)
  return row?.count ?? 0
}

/** Caches the result of `read` for `maxAgeMs`; failures are not cached. */
function cached<Value> (
  maxAgeMs: number, clock: () => number, read: () => Promise<Value>
): () => Promise<Value> {
  let last: { at: number, value: Promise<Value> } | null = null
  return () => {
    const at = clock()
    if (last !== null && at - last.at < maxAgeMs && at >= last.at) return last.value
    const value = read()
    const begun = { at, value }
    last = begun
    value.catch(() => { if (last === begun) last = null })
    return value
  }
}
