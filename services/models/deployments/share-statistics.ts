import { createJsonRows } from '../../store/json-rows.ts'
import type { Store } from '../../store/store.ts'
import type { Deployments } from './deployments.ts'
import type { NodeStatistics } from './statistics.ts'

interface ExchangeOptions {
  store: Store
  deployments: Deployments
  /** New for each start of the process, which reads its earlier measurements as another node's. */
  node: string
  clock?: () => number
}

/** `sums` is JSON, `at` in ms since 1970. */
interface StatisticsRow {
  node: string
  provider: string
  model: string
  at: number
  count: number
  sums: string
}

/** Nine half-lives: older measurements have no weight left. */
const retentionMs = 45 * 60_000
const deleteEveryMs = 10 * 60_000
const maxRows = 20_000

/** Shares the measurements of nodes through the store. */
export function createStatisticsExchange (
  { store, deployments, node, clock = store.clock }: ExchangeOptions
) {
  const table = createJsonRows<Omit<StatisticsRow, 'node'> & Record<string, string | number>>(store.engine,
    { provider: 'text', model: 'text', at: 'bigint', count: 'bigint', sums: 'text' })
  // SQLite needs a `where` between a select and `on conflict`.
  const upsert = `
    insert into deployment_statistics (node, provider, model, at, count, sums)
    select cast($2 as text), provider, model, at, count, sums from ${table.sql} as fresh where true
    on conflict (node, provider, model) do update set at = excluded.at, count = excluded.count, sums = excluded.sums`
  let deletedAt = clock()

  async function write (): Promise<void> {
    const rows = deployments.list().flatMap(({ name, statistics }) => {
      const changed = statistics.takeChanges()
      return changed === null ? [] : [{ ...name, ...changed, sums: JSON.stringify(changed.sums) }]
    })
    if (rows.length === 0) return
    // One order on all nodes, so that two of them never deadlock.
    rows.sort((a, b) => keyOf(a) < keyOf(b) ? -1 : 1)
    await store.run(upsert, [table.parameter(rows), node])
  }

  async function read (): Promise<void> {
    const rows = await store.all<StatisticsRow>(`
      select node, provider, model, at, count, sums from deployment_statistics
      where node <> $1 and at > cast($2 as bigint) order by at desc limit ${maxRows}`, [node, clock() - retentionMs])
    for (const [first, ...others] of Map.groupBy(rows, keyOf).values()) {
      if (first === undefined) continue
      const byNode = new Map([first, ...others].map(row => [row.node, toStatistics(row)]))
      deployments.of(first).statistics.mergeRemote(byNode)
    }
  }

  return {
    /** Shares this node's changes and reads those of others. Throws StoreUnavailable. */
    async exchange (): Promise<void> {
      await write()
      await read()
      if (clock() - deletedAt < deleteEveryMs) return
      deletedAt = clock()
      await store.run('delete from deployment_statistics where at < cast($1 as bigint)', [deletedAt - retentionMs])
    }
  }
}

function keyOf ({ provider, model }: Pick<StatisticsRow, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}

function toStatistics ({ at, count, sums }: StatisticsRow): NodeStatistics {
  return { at, count, sums: JSON.parse(sums) }
}
