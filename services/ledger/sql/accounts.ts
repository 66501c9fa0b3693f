import { createJsonIds, createJsonRows } from '../../store/json-rows.ts'
import type { Queries, Store, Value } from '../../store/store.ts'

/** An account as a commit finds it, with this node's allowance. Integer nano-USD. */
export interface AccountRow {
  id: string
  creditsNano: number
  spentNano: number
  heldNano: number
  allowanceNano: number
  /** A `holdState`; null without a row. */
  allowanceState: number | null
  spareRequested: number
  /** The sequence number of the node's last booked settlement. */
  bookedSequence: number
}

interface AllowanceRow extends Record<string, Value> {
  account: string
  amount: number
  spare: number
  booked_sequence: number
}

interface ChangeRow extends Record<string, Value> { id: string, spent: number, held: number }

interface AccountStatements {
  /** In the order of their ids, to avoid deadlocks. */
  lockAccounts (queries: Queries, accounts: Iterable<string>, term: string): Promise<AccountRow[]>
  writeAllowances (
    queries: Queries, term: string, node: string, rows: readonly AllowanceRow[]
  ): Promise<void>
  changeAccounts (queries: Queries, rows: readonly ChangeRow[]): Promise<void>
}

/** The statements on accounts and allowances, for one engine. */
export function accountStatements (engine: Store['engine']): AccountStatements {
  return engine === 'sqlite' ? ofSqlite : ofPostgres()
}

const accountColumns = `
  account.id, credits as "creditsNano", spent as "spentNano", held as "heldNano",
  coalesce(hold.amount, 0) as "allowanceNano", hold.state as "allowanceState",
  coalesce(hold.spare_requested, 0) as "spareRequested", coalesce(hold.booked_sequence, 0) as "bookedSequence"`
const allowanceColumns = 'id, account, kind, owner, amount, spare, booked_sequence, created_at'

/** On SQLite, one statement per row costs less than unpacking the rows from JSON. */
const ofSqlite: AccountStatements = {
  async lockAccounts (queries, accounts, term) {
    const rows: AccountRow[] = []
    for (const account of accounts) {
      const row = await queries.get<AccountRow>(lockAccount, [account, term])
      if (row !== undefined) rows.push(row)
    }
    return rows
  },

  async writeAllowances (queries, term, node, rows) {
    for (const { account, amount, spare, booked_sequence: sequence } of rows) {
      const updated = await queries.run(updateAllowance, [term, account, amount, spare, sequence])
      if (updated > 0) continue
      await queries.run(insertAllowance, [term, account, node, amount, spare, sequence])
    }
  },

  async changeAccounts (queries, rows) {
    for (const { id, spent, held } of rows) await queries.run(changeAccount, [id, spent, held])
  }
}

const lockAccount = `
  select ${accountColumns} from account left join hold on hold.id = $2 and hold.account = account.id
  where account.id = $1`
const updateAllowance = `
  update hold set amount = $3, spare = $4, booked_sequence = $5, spare_requested = 0 where id = $1 and account = $2`
const insertAllowance = `insert into hold (${allowanceColumns}) values ($1, $2, 'node', $3, $4, $5, $6, now_ms())`
const changeAccount = 'update account set spent = spent + $2, held = held + $3 where id = $1'

function ofPostgres (): AccountStatements {
  const ids = createJsonIds('postgres')
  const allowances = createJsonRows<AllowanceRow>('postgres', {
    account: 'text', amount: 'bigint', spare: 'bigint', booked_sequence: 'bigint'
  })
  const changes = createJsonRows<ChangeRow>('postgres', { id: 'text', spent: 'bigint', held: 'bigint' })
  // `no key`: inserting rows that only refer to an account need not wait.
  const lockAccounts = `
    select ${accountColumns} from ${ids.sql} as given
    join account on account.id = given.id
    left join hold on hold.id = $2 and hold.account = account.id
    order by account.id for no key update of account`
  const writeAllowances = `
    insert into hold (${allowanceColumns})
    select $2, account, 'node', $3, amount, spare, booked_sequence, now_ms()
    from ${allowances.sql} as given where true
    on conflict (id, account) do update set
      amount = excluded.amount, spare = excluded.spare, booked_sequence = excluded.booked_sequence, spare_requested = 0`
  const changeAccounts = `
    update account set spent = account.spent + given.spent, held = account.held + given.held
    from ${changes.sql} as given where account.id = given.id`
  return {
    async lockAccounts (queries, accounts, term) {
      return await queries.all<AccountRow>(lockAccounts, [ids.parameter(accounts), term])
    },

    async writeAllowances (queries, term, node, rows) {
      if (rows.length > 0) await queries.run(writeAllowances, [allowances.parameter(rows), term, node])
    },

    async changeAccounts (queries, rows) {
      if (rows.length > 0) await queries.run(changeAccounts, [changes.parameter(rows)])
    }
  }
}
