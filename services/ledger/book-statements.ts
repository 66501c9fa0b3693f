import { createRowInsert } from '../store/insert-rows.ts'
import type { Queries, Store, Value } from '../store/store.ts'
import { createTable } from './table.ts'

/** An entry of the books; `at` in milliseconds since 1970, `amount` in integer nano-USD, `usage` as JSON. */
export interface EntryRow extends Record<string, Value> {
  id: string
  at: number
  debit: string
  credit: string
  amount: number
  kind: 'usage' | 'suspense'
  ref: string
  model: string
  usage: string
  estimated: number
  hold: string | null
  api_key: string
  chain: string
}

/** One of the accounts that the entries of a chain count for. */
export interface ChainRow extends Record<string, Value> { id: string, account: string }

const entryColumns = {
  id: 'text',
  at: 'bigint',
  debit: 'text',
  credit: 'text',
  amount: 'bigint',
  kind: 'text',
  ref: 'text',
  model: 'text',
  usage: 'text',
  estimated: 'bigint',
  hold: 'text',
  api_key: 'text',
  chain: 'text'
} as const
const entryColumnNames = Object.keys(entryColumns) as (keyof typeof entryColumns)[]

/** Writes the statements that add to the books. */
export function bookStatements (engine: Store['engine']) {
  const chains = createTable<ChainRow>(engine, { id: 'text', account: 'text' })
  const entries = createTable<EntryRow>(engine, entryColumns)
  const insertChains = `
    insert into chain (id, account) select id, account from ${chains.sql} as given where true
    on conflict do nothing`
  const list = entryColumnNames.join(', ')
  const insertEntries = `
    insert into entry (${list}) select ${list} from ${entries.sql} as given where true
    on conflict do nothing returning id`
  return {
    async insertChains (queries: Queries, rows: readonly ChainRow[]): Promise<void> {
      await queries.run(insertChains, [chains.parameter(rows)])
    },

    /** Returns the ids of those that were not there before. */
    async insertEntries (queries: Queries, rows: readonly EntryRow[]): Promise<string[]> {
      if (engine === 'sqlite') return await insertEntriesIntoSqlite(queries, rows)
      const inserted = await queries.all<{ id: string }>(insertEntries, [entries.parameter(rows)])
      return inserted.map(({ id }) => id)
    }
  }
}

const ifNew = 'on conflict do nothing'
const usual = { kind: 'usage', credit: 'revenue', estimated: 0, hold: null } as const
const insertUsual = createRowInsert<EntryRow>('entry', {
  columns: ['id', 'at', 'amount', 'ref', 'usage'],
  add: ({ id, at, amount, ref, usage }, values) => values.push(id, at, amount, ref, usage),
  shared: {
    columns: ['debit', 'model', 'api_key', 'chain'],
    add: ({ debit, model, api_key: key, chain }, values) => values.push(debit, model, key, chain),
    areAlike: (one, other) => one.api_key === other.api_key && one.model === other.model &&
      one.debit === other.debit && one.chain === other.chain
  },
  constants: usual,
  ending: ifNew
})
const insertAny = createRowInsert<EntryRow>('entry', {
  columns: entryColumnNames,
  add (row, values) {
    for (const name of entryColumnNames) values.push(row[name])
  },
  ending: ifNew
})

async function insertEntriesIntoSqlite (queries: Queries, rows: readonly EntryRow[]): Promise<string[]> {
  const count = await (rows.every(isUsual) ? insertUsual : insertAny)(queries, rows)
  if (count === rows.length) return rows.map(({ id }) => id)
  // This connection alone is writing, so what it has added is what is last.
  const added = await queries.all<{ id: string }>('select id from entry order by seq desc limit $1', [count])
  return added.map(({ id }) => id)
}

function isUsual ({ kind, credit, estimated, hold }: EntryRow): boolean {
  return kind === usual.kind && credit === usual.credit &&
    estimated === usual.estimated && hold === usual.hold
}
