import { rememberedText } from '../../shared/memoize.ts'
import { createRowInsert } from '../../store/insert-rows.ts'
import type { RowInsert } from '../../store/insert-rows.ts'
import type { Queries, Store, Value } from '../../store/store.ts'
import { createTable } from '../../store/json-rows.ts'

/** An entry of the books; `at` in milliseconds since 1970, `amount` in integer nano-USD, `usage` as JSON. */
export interface EntryRow extends Record<string, Value> {
  /** Null for usage whose settlement was numbered. */
  id: string | null
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

/** The ids of entries that were not there before, of those that have one. */
export type Inserted = Pick<ReadonlySet<string>, 'has'>

/** One of the accounts that the entries of a chain count for. */
interface ChainRow extends Record<string, Value> { id: string, account: string }

/**
 * A chain, which the requests of a key have in common, by the name under which the books know it; no account
 * id contains a space.
 */
export const chainId = rememberedText<readonly string[]>(chain => chain.join(' '))

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
    async insertChains (queries: Queries, given: readonly (readonly string[])[]): Promise<void> {
      if (given.length === 0) return
      const rows = given.flatMap(chain => chain.map(account => ({ id: chainId(chain), account })))
      await queries.run(insertChains, [chains.parameter(rows)])
    },

    async insertEntries (queries: Queries, rows: readonly EntryRow[]): Promise<Inserted> {
      if (rows.length === 0) return none
      if (engine === 'sqlite') return await insertEntriesIntoSqlite(queries, rows)
      return toInserted(await queries.all<{ id: string | null }>(insertEntries, [entries.parameter(rows)]))
    }
  }
}

const usual = { kind: 'usage', credit: 'revenue', estimated: 0, hold: null } as const
const ofUsual = {
  shared: {
    columns: ['at', 'debit', 'model', 'api_key', 'chain'],
    add: ({ at, debit, model, api_key: key, chain }, values) => values.push(at, debit, model, key, chain),
    areAlike: (one, other) => one.at === other.at && one.api_key === other.api_key &&
      one.model === other.model && one.debit === other.debit && one.chain === other.chain
  },
  constants: usual
} satisfies Partial<RowInsert<EntryRow>>
const insertNumbered = createRowInsert<EntryRow>('entry', {
  ...ofUsual,
  columns: ['amount', 'ref', 'usage'],
  add: ({ amount, ref, usage }, values) => values.push(amount, ref, usage)
})
const insertUsual = createRowInsert<EntryRow>('entry', {
  ...ofUsual,
  columns: ['id', 'amount', 'ref', 'usage'],
  add: ({ id, amount, ref, usage }, values) => values.push(id, amount, ref, usage),
  ending: 'on conflict do nothing'
})
const insertAny = createRowInsert<EntryRow>('entry', {
  columns: entryColumnNames,
  add (row, values) {
    for (const name of entryColumnNames) values.push(row[name])
  },
  ending: 'on conflict do nothing'
})

async function insertEntriesIntoSqlite (queries: Queries, rows: readonly EntryRow[]): Promise<Inserted> {
  const count = await insertFor(rows)(queries, rows)
  if (count === rows.length) return all
  // This connection alone is writing, so what it has added is what is last.
  return toInserted(await queries.all('select id from entry order by seq desc limit $1', [count]))
}

function insertFor (rows: readonly EntryRow[]) {
  if (!rows.every(isUsual)) return insertAny
  return rows.every(({ id }) => id === null) ? insertNumbered : insertUsual
}

const all: Inserted = { has: () => true }
const none: Inserted = { has: () => false }

function toInserted (rows: readonly { id: string | null }[]): Inserted {
  return new Set(rows.flatMap(({ id }) => id ?? []))
}

function isUsual ({ kind, credit, estimated, hold }: EntryRow): boolean {
  return kind === usual.kind && credit === usual.credit &&
    estimated === usual.estimated && hold === usual.hold
}
