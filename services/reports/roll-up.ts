import { settledSeq } from '../ledger/sql/settled-seq.ts'
import { createRowInsert } from '../store/sqlite-connection.ts'
import type { Queries, Store, Value } from '../store/store.ts'
import { factKeys, factsOf, factSums, increased, sumOf, type FactSum } from './usage-facts.ts'

type Engine = Store['engine']

/** Entries per transaction: on SQLite, writing their sums blocks the process; on Postgres, nothing waits. */
const usualChunks: Record<Engine, number> = { sqlite: 1_000, postgres: 10_000 }
/** This many entries are summed up faster than a thread could be asked. */
const fewEntries = 200

/**
 * Adds entries to `usage_day` until those are in it that were there at the start, and returns how many were
 * added. Several nodes may do so at once: a chunk counts for the one that moves `usage_progress` from where
 * it read it, in the same transaction, and the others stop. Throws StoreUnavailable.
 */
export async function rollUpUsage (
  store: Store, { signal, chunk = usualChunks[store.engine] }: { signal?: AbortSignal, chunk?: number } = {}
): Promise<number> {
  const start = await progressOf(store)
  const end = await settledSeq(store)
  if (end === null) return 0
  let from = start
  while (from < end && signal?.aborted !== true) {
    const to = Math.min(from + chunk, end)
    if (!await rollUp(store, from, to)) break
    from = to
  }
  return from - start
}

/** Returns how many entries are not rolled up yet. Throws StoreUnavailable. */
export async function countWaitingEntries (store: Pick<Store, 'get'>): Promise<number> {
  const row = await store.get<{ count: number }>(`
    select coalesce((select max(seq) from entry), 0) - seq as count from usage_progress`)
  return row?.count ?? 0
}

/** Returns false if another node has added these entries. */
async function rollUp (store: Store, from: number, to: number): Promise<boolean> {
  const add = store.engine === 'sqlite' ? await readSums(store, from, to) : addFromEntries(from, to)
  return await store.transaction(async queries => {
    const moved = await queries.run('update usage_progress set seq = $2 where seq = $1', [from, to])
    if (moved === 1) await add(queries)
    return moved === 1
  })
}

type Add = (queries: Queries) => Promise<unknown>

type DayRow = Record<typeof factKeys[number] | FactSum, Value>

const keys = factKeys.join(', ')
const columns = [...factKeys, ...factSums] as const

/** Sums up before the transaction, which blocks all writes, and in a thread of its own if there is much. */
async function readSums (store: Store, from: number, to: number): Promise<Add> {
  const reader = to - from > fewEntries ? store.reports : store
  const rows = await reader.all<DayRow>(sums.sqlite, [from, to])
  return async queries => await insertIntoSqlite(queries, rows)
}

function addFromEntries (from: number, to: number): Add {
  return async queries => await queries.run(insertIntoPostgres, [from, to])
}

const sums: Record<Engine, string> = { sqlite: sumsOf('sqlite'), postgres: sumsOf('postgres') }

function sumsOf (engine: Engine): string {
  return `
    select ${keys}, ${factSums.map(name => `${sumOf(engine, name)} as ${name}`).join(', ')}
    from (${factsOf(engine, 'entry', 'entry.seq > $1 and entry.seq <= $2')}) as fact group by ${keys}`
}

function whenThere (engine: Engine): string {
  const changes = factSums.map(name => `${name} = ${increased(engine, name)}`)
  return `on conflict (${keys}) do update set ${changes.join(', ')}`
}

const insertIntoPostgres = `
  insert into usage_day (${columns.join(', ')}) ${sums.postgres} ${whenThere('postgres')}`

const insertIntoSqlite = createRowInsert<DayRow>('usage_day', {
  columns,
  add (row, values) {
    for (const name of columns) values.push(row[name])
  },
  ending: whenThere('sqlite')
})

async function progressOf (store: Store): Promise<number> {
  const row = await store.get<{ seq: number }>('select seq from usage_progress')
  return row?.seq ?? 0
}
