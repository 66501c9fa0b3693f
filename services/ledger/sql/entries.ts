import { createRowInsert, type RowInsert } from '../../store/insert-rows.ts'
import { createJsonRows } from '../../store/json-rows.ts'
import type { Queries, Store, Value } from '../../store/store.ts'

/** A new entry; `at` in milliseconds since 1970, `amount` in integer nano-USD, `usage` as JSON. */
export interface EntryRow extends Record<string, Value> {
  /** Null for usage whose settlement has a sequence number. */
  idempotency_key: string | null
  at: number
  debit: string
  credit: string
  amount: number
  kind: 'usage' | 'suspense'
  ref: string
  model: string
  provider: string | null
  usage: string
  estimated: number
  hold: string | null
  api_key: string
  chain: string
  /** A `SuspenseReason`; null for usage. */
  reason: string | null
}

export type Inserted = Pick<ReadonlySet<string>, 'has'>

interface ChainRow extends Record<string, Value> { id: string, account: string }

const chainIds = new WeakMap<readonly string[], string>()

/** The id of a chain in the table `chain`: its account ids, none of which contains a space. */
export function chainId (chain: readonly string[]): string {
  const known = chainIds.get(chain)
  if (known !== undefined) return known
  const id = chain.join(' ')
  chainIds.set(chain, id)
  return id
}

const entryColumns = {
  idempotency_key: 'text',
  at: 'bigint',
  debit: 'text',
  credit: 'text',
  amount: 'bigint',
  kind: 'text',
  ref: 'text',
  model: 'text',
  provider: 'text',
  usage: 'text',
  estimated: 'bigint',
  hold: 'text',
  api_key: 'text',
  chain: 'text',
  reason: 'text'
} as const
const entryColumnNames = Object.keys(entryColumns) as (keyof typeof entryColumns)[]

/** The statements that add entries and chains, for one engine. */
export function entryStatements (engine: Store['engine']) {
  const chains = createJsonRows<ChainRow>(engine, { id: 'text', account: 'text' })
  const entries = createJsonRows<EntryRow>(engine, entryColumns)
  const insertChains = `
    insert into chain (id, account) select id, account from ${chains.sql} as given where true
    on conflict do nothing`
  const list = entryColumnNames.join(', ')
  const insertEntries = `
    insert into entry (${list}) select ${list} from ${entries.sql} as given where true
    on conflict do nothing returning idempotency_key`
  return {
    async insertChains (queries: Queries, given: readonly (readonly string[])[]): Promise<void> {
      if (given.length === 0) return
      const rows = given.flatMap(chain => chain.map(account => ({ id: chainId(chain), account })))
      await queries.run(insertChains, [chains.parameter(rows)])
    },

    async insertEntries (queries: Queries, rows: readonly EntryRow[]): Promise<Inserted> {
      if (rows.length === 0) return none
      if (engine === 'sqlite') return await insertEntriesIntoSqlite(queries, rows)
      return toInserted(await queries.all<InsertedRow>(insertEntries, [entries.parameter(rows)]))
    }
  }
}

const usual = { kind: 'usage', credit: 'revenue', estimated: 0, hold: null } as const
const ofUsual = {
  shared: {
    columns: ['at', 'debit', 'model', 'provider', 'api_key', 'chain'],
    add: ({ at, debit, model, provider, api_key: key, chain }, values) =>
      values.push(at, debit, model, provider, key, chain),
    areAlike: (one, other) => one.at === other.at && one.api_key === other.api_key &&
      one.model === other.model && one.provider === other.provider && one.debit === other.debit &&
      one.chain === other.chain
  },
  constants: usual
} satisfies Partial<RowInsert<EntryRow>>
const insertWithoutKey = createRowInsert<EntryRow>('entry', {
  ...ofUsual,
  columns: ['amount', 'ref', 'usage'],
  add: ({ amount, ref, usage }, values) => values.push(amount, ref, usage)
})
const insertUsual = createRowInsert<EntryRow>('entry', {
  ...ofUsual,
  columns: ['idempotency_key', 'amount', 'ref', 'usage'],
  add: ({ idempotency_key: key, amount, ref, usage }, values) => values.push(key, amount, ref, usage),
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
  // Only this connection writes, so what it has added is last.
  return toInserted(await queries.all('select idempotency_key from entry order by seq desc limit $1', [count]))
}

/** Columns in which entries are alike are bound once, or written into the statement. */
function insertFor (rows: readonly EntryRow[]) {
  if (!rows.every(isUsual)) return insertAny
  return rows.every(({ idempotency_key: key }) => key === null) ? insertWithoutKey : insertUsual
}

const all: Inserted = { has: () => true }
const none: Inserted = { has: () => false }

type InsertedRow = Pick<EntryRow, 'idempotency_key'>

function toInserted (rows: readonly InsertedRow[]): Inserted {
  return new Set(rows.flatMap(({ idempotency_key: key }) => key ?? []))
}

function isUsual ({ kind, credit, estimated, hold }: EntryRow): boolean {
  return kind === usual.kind && credit === usual.credit &&
    estimated === usual.estimated && hold === usual.hold
}
