import { rollUpEntries } from '../../billing/ledger/sql/roll-up.ts'
import { createRowInsert } from '../../store/sqlite-connection.ts'
import type { Queries, Store } from '../../store/store.ts'
import { sumFacts, type DayRow, type EntryGroup } from './sum-facts.ts'
import { factKeys, factsOf, factSums, groupsOf, increased, sumOf } from './usage-facts.ts'

type Engine = Store['engine']

/** Entries per transaction: on SQLite, writing their sums blocks the process; on Postgres, nothing waits. */
const usualChunks: Record<Engine, number> = { sqlite: 1_000, postgres: 10_000 }
/** This many entries are summed up faster than a thread could be asked. */
const fewEntries = 200

/** Adds entries to `usage_day`, as `rollUpEntries` does; returns how many. Throws StoreUnavailable. */
export async function rollUpUsage (
  store: Store, { signal, chunk = usualChunks[store.engine] }: { signal?: AbortSignal, chunk?: number } = {}
): Promise<number> {
  const prepare = async (from: number, to: number): Promise<Add> =>
    store.engine === 'sqlite' ? await readSums(store, from, to) : addFromEntries(from, to)
  return await rollUpEntries(store, { progress: 'usage_progress', chunk, prepare }, signal)
}

type Add = (queries: Queries) => Promise<unknown>

const keys = factKeys.join(', ')
const columns = [...factKeys, ...factSums] as const

/** Reads before the transaction, which blocks all writes, and in a thread of its own if there is much. */
async function readSums (store: Store, from: number, to: number): Promise<Add> {
  const reader = to - from > fewEntries ? store.reports : store
  const groups = await reader.all<EntryGroup>(readGroups, [from, to])
  const rows = groups.flatMap(sumFacts)
  return async queries => await insertIntoSqlite(queries, rows)
}

function addFromEntries (from: number, to: number): Add {
  return async queries => await queries.run(insertIntoPostgres, [from, to])
}

const isInRange = 'entry.seq > $1 and entry.seq <= $2'
const readGroups = groupsOf(isInRange)

function whenThere (engine: Engine): string {
  const changes = factSums.map(name => `${name} = ${increased(engine, name)}`)
  return `on conflict (${keys}) do update set ${changes.join(', ')}`
}

const insertIntoPostgres = `
  insert into usage_day (${columns.join(', ')})
  select ${keys}, ${factSums.map(name => `${sumOf('postgres', name)} as ${name}`).join(', ')}
  from (${factsOf('postgres', 'entry', isInRange)}) as fact group by ${keys} ${whenThere('postgres')}`

const insertIntoSqlite = createRowInsert<DayRow>('usage_day', {
  columns,
  add (row, values) {
    for (const name of columns) values.push(row[name])
  },
  ending: whenThere('sqlite')
})
