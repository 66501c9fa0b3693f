import { createRowInsert, type RowInsert } from '../../../store/sqlite-connection.ts'
import { createJsonIds } from '../../../store/json-rows.ts'
import type { Queries } from '../../../store/store.ts'
import type { CommonStatements } from './common.ts'
import { accountRowColumns, entryColumns, peersWithAllowance } from './rows.ts'
import type { AccountWrite, AccountRow, CommitRows, EngineStatements, EntryRow } from './rows.ts'

/**
 * The statements for SQLite, where no other transaction writes until the caller's has ended. One statement
 * per row costs less than unpacking the rows from JSON.
 */
export function sqliteStatements (common: CommonStatements): EngineStatements {
  const ids = createJsonIds('sqlite')
  const requestSpare = `
    update hold set spare_requested = 1
    where account in (select id from ${ids.sql} as given) and ${peersWithAllowance}`
  return {
    async readAccounts (queries, accounts, term) {
      const rows: AccountRow[] = []
      for (const account of accounts) {
        const row = await queries.get<AccountRow>(readAccount, [account, term])
        if (row !== undefined) rows.push(row)
      }
      return rows
    },

    async lockAccounts () {},
    unlockedOf: async (_queries, accounts) => [...accounts],

    async changeAccounts (queries, rows) {
      for (const { id, spent, held } of rows) await queries.run(changeAccount, [id, spent, held])
    },

    insertEntries,

    async requestSpare (queries, term, leaseMs, short) {
      await queries.run(requestSpare, [ids.parameter(short), term, leaseMs])
    },

    async writeCommit (queries, rows) {
      const { node, epoch, requestMs, renews, chains, entries, ended, holds } = rows
      if (renews && !await common.heartbeat(queries, node, epoch, requestMs)) return { result: 'ended', accounts: [] }
      if (chains.length > 0) await common.insertChains(queries, chains)
      if (entries.length > 0) await insertEntries(queries, entries)
      if (ended.length > 0) await common.endDurable(queries, ended)
      if (holds.length > 0) await common.insertDurable(queries, node, holds)
      for (const change of rows.accounts) await writeAccount(queries, rows, change)
      return { result: 'written', accounts: [] }
    }
  }
}

const readAccount = `
  select ${accountRowColumns} from account left join hold on hold.id = $2 and hold.account = account.id
  where account.id = $1`
const updateAllowance = `
  update hold set amount = $3, spare = $4, booked_sequence = $5, spare_requested = 0 where id = $1 and account = $2`
const insertAllowance = `
  insert into hold (id, account, kind, owner, amount, spare, booked_sequence, created_at)
  values ($1, $2, 'node', $3, $4, $5, $6, now_ms())`
const changeAccount = 'update account set spent = spent + $2, held = held + $3 where id = $1'

async function writeAccount (
  queries: Queries, { node, term }: CommitRows, change: AccountWrite
): Promise<void> {
  const { id, spent, held, amount, spare, booked_sequence: sequence } = change
  if (amount !== null) {
    const updated = await queries.run(updateAllowance, [term, id, amount, spare, sequence])
    if (updated === 0) await queries.run(insertAllowance, [term, id, node, amount, spare, sequence])
  }
  if (spent !== 0 || held !== 0) await queries.run(changeAccount, [id, spent, held])
}

async function insertEntries (queries: Queries, rows: readonly EntryRow[]): Promise<void> {
  if (rows.length > 0) await insertFor(rows)(queries, rows)
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
  add: ({ idempotency_key: key, amount, ref, usage }, values) => values.push(key, amount, ref, usage)
})
const entryColumnNames = Object.keys(entryColumns) as (keyof typeof entryColumns)[]
const insertAny = createRowInsert<EntryRow>('entry', {
  columns: entryColumnNames,
  add (row, values) {
    for (const name of entryColumnNames) values.push(row[name])
  }
})

/** Columns in which entries are alike are bound once, or written into the statement. */
function insertFor (rows: readonly EntryRow[]) {
  if (!rows.every(isUsual)) return insertAny
  return rows.every(({ idempotency_key: key }) => key === null) ? insertWithoutKey : insertUsual
}

function isUsual ({ kind, credit, estimated, hold }: EntryRow): boolean {
  return kind === usual.kind && credit === usual.credit &&
    estimated === usual.estimated && hold === usual.hold
}
