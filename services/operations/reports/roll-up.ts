import { settledSeq } from '../../billing/ledger/sql/settled-seq.ts'
import { createRowInsert } from '../../store/sqlite-connection.ts'
import type { Queries, Store } from '../../store/store.ts'
import { sumFacts, type DayRow, type EntryGroup } from './sum-facts.ts'
import { factKeys, factsOf, factSums, groupsOf, increased, sumOf } from './usage-facts.ts'

type Engine = Store['engine']

/** Entries per transaction: on SQLite, writing their sums blocks the process; on Postgres, nothing waits. */
const usualChunks: Record<Engine, number> = { sqlite: 1_000, postgres: 10_000 }
/** This many entries are summed faster than a call to the thread takes. */
const fewEntries = 200

/**
 * Adds the entries that were there at the start to `usage_day`, and returns how many. Several nodes may do so
 * at once: a chunk counts for the node that moves the progress from where it read it, and the others stop.
 * Throws StoreUnavailable.
 */
export async function rollUpUsage (
  store: Store, { signal, chunk = usualChunks[store.engine] }: { signal?: AbortSignal, chunk?: number } = {}
): Promise<number> {
  const row = await store.get<{ seq: number }>('select seq from usage_progress')
  const start = row?.seq ?? 0
  const end = await settledSeq(store)
  if (end === null) return 0
  let from = start
  while (from < end && signal?.aborted !== true) {
    const to = Math.min(from + chunk, end)
    if (!await addChunk(store, from, to)) break
    from = to
  }
  return from - start
}

/** Returns how many entries are not in `usage_day` yet. Throws StoreUnavailable. */
export async function countWaitingEntries (store: Pick<Store, 'get'>): Promise<number> {
  const row = await store.get<{ count: number }>(`
    select coalesce((select max(seq) from entry), 0) - seq as count from usage_progress`)
  return row?.count ?? 0
}

/** Resolves with false if another node has added the chunk. */
async function addChunk (store: Store, from: number, to: number): Promise<boolean> {
  const add = store.engine === 'sqlite' ? await readSums(store, from, to) : addFromEntries(from, to)
  return await store.transaction(async queries => {
    const moved = await queries.run('update usage_progress set seq = $2 where seq = $1', [from, to])
    if (moved === 1) await add(queries)
    return moved === 1
  })
}

type Add = (queries: Queries) => Promise<unknown>

const keys = factKeys.join(', ')
const columns = [...factKeys, ...factSums] as const

/** Reads before the transaction, which blocks all writes, and in a separate thread if there are many rows. */
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
