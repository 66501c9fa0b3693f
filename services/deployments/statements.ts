import { createTable } from '../store/json-rows.ts'
import type { Store } from '../store/store.ts'

/** One row of `deployment_statistics`; `sums` is JSON, `at` in ms since 1970. */
export interface StatisticsRow {
  node: string
  provider: string
  model: string
  at: number
  count: number
  sums: string
}

type OwnRow = Omit<StatisticsRow, 'node'>

/** The statements that nodes share their measurements by. */
export interface StatisticsStatements {
  write (node: string, rows: readonly OwnRow[]): Promise<void>
  /** What the other nodes have written since a time, the newest first. */
  readOthers (node: string, since: number): Promise<StatisticsRow[]>
  forget (before: number): Promise<void>
}

/** Most rows that are read at once. */
const maxRows = 20_000

export function createStatements (store: Store): StatisticsStatements {
  const table = createTable<OwnRow & Record<string, string | number>>(store.engine,
    { provider: 'text', model: 'text', at: 'bigint', count: 'bigint', sums: 'text' })
  // SQLite wants a `where` between a select and `on conflict`.
  const upsert = `
    insert into deployment_statistics (node, provider, model, at, count, sums)
    select cast($2 as text), provider, model, at, count, sums from ${table.sql} as fresh where true
    on conflict (node, provider, model) do update set at = excluded.at, count = excluded.count, sums = excluded.sums`
  return {
    async write (node, rows) {
      // In one order everywhere, so that no two processes wait for each other.
      const sorted = rows.toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : 1)
      await store.run(upsert, [table.parameter(sorted.map(row => ({ ...row }))), node])
    },
    readOthers: (node, since) => store.all<StatisticsRow>(`
      select node, provider, model, at, count, sums from deployment_statistics
      where node <> $1 and at > cast($2 as bigint) order by at desc limit ${maxRows}`, [node, since]),
    async forget (before) {
      await store.run('delete from deployment_statistics where at < cast($1 as bigint)', [before])
    }
  }
}

const keyOf = ({ provider, model }: OwnRow): string => `${provider}/${model}`
