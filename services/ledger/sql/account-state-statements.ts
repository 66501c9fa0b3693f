import type { Queries, Store, Value } from '../../store/store.ts'
import { createIdTable, createTable } from '../../store/json-rows.ts'

/** An account as a commit finds it, and this node's hold on it. Integer nano-USD. */
export interface AccountRow {
  id: string
  creditsNano: number
  spentNano: number
  heldNano: number
  /** The node's own row; 0 when there is none. */
  rowNano: number
  /** Of the node's own row; null when there is none. */
  rowState: number | null
  /** 1 when another node asks for what is spare. */
  wanted: number
  /** Up to which number the node's settlements are in the books that concern the account. */
  booked: number
}

/**
 * What a node holds of an account, and what of that is spare; integer nano-USD. `booked` as in `AccountRow`.
 */
export interface NodeHoldRow extends Record<string, Value> {
  account: string
  amount: number
  spare: number
  booked: number
}

/** What is added to what an account has spent and to what is held of it; integer nano-USD. */
export interface ChangeRow extends Record<string, Value> { id: string, spent: number, held: number }

/** What reads and writes the standing of accounts. */
interface StandingStatements {
  /**
   * Reads accounts and locks them, everywhere in the order of their ids, so that no two commits wait in a
   * circle.
   */
  lockAccounts (queries: Queries, accounts: Iterable<string>, term: string): Promise<AccountRow[]>
  /** Makes the node's own rows what they are given as. */
  writeNodeHolds (
    queries: Queries, term: string, node: string, nowMs: number, rows: readonly NodeHoldRow[]
  ): Promise<void>
  changeAccounts (queries: Queries, rows: readonly ChangeRow[]): Promise<void>
}

/** Writes those statements for one engine. */
export function standingStatements (engine: Store['engine']): StandingStatements {
  return engine === 'sqlite' ? ofSqlite : ofPostgres()
}

const accountColumns = `
  account.id, credits as "creditsNano", spent as "spentNano", held as "heldNano",
  coalesce(hold.amount, 0) as "rowNano", hold.state as "rowState", coalesce(hold.wanted, 0) as wanted,
  coalesce(hold.booked, 0) as booked`
const nodeHoldColumns = 'id, account, kind, owner, amount, spare, booked, created_at'

/** In this process a statement for each row costs less than what it takes to unpack the rows from JSON. */
const ofSqlite: StandingStatements = {
  async lockAccounts (queries, accounts, term) {
    const rows: AccountRow[] = []
    for (const account of accounts) {
      const row = await queries.get<AccountRow>(lockAccount, [account, term])
      if (row !== undefined) rows.push(row)
    }
    return rows
  },

  async writeNodeHolds (queries, term, node, nowMs, rows) {
    for (const { account, amount, spare, booked } of rows) {
      const updated = await queries.run(updateNodeHold, [term, account, amount, spare, booked])
      if (updated > 0) continue
      await queries.run(insertNodeHold, [term, account, node, amount, spare, booked, nowMs])
    }
  },

  async changeAccounts (queries, rows) {
    for (const { id, spent, held } of rows) await queries.run(changeAccount, [id, spent, held])
  }
}

const lockAccount = `
  select ${accountColumns} from account left join hold on hold.id = $2 and hold.account = account.id
  where account.id = $1`
const updateNodeHold = `
  update hold set amount = $3, spare = $4, booked = $5, wanted = 0 where id = $1 and account = $2`
const insertNodeHold = `insert into hold (${nodeHoldColumns}) values ($1, $2, 'node', $3, $4, $5, $6, $7)`
const changeAccount = 'update account set spent = spent + $2, held = held + $3 where id = $1'

function ofPostgres (): StandingStatements {
  const ids = createIdTable('postgres')
  const holds = createTable<NodeHoldRow>('postgres', {
    account: 'text', amount: 'bigint', spare: 'bigint', booked: 'bigint'
  })
  const changes = createTable<ChangeRow>('postgres', { id: 'text', spent: 'bigint', held: 'bigint' })
  // `no key`, because rows that only refer to an account need not wait.
  const lockAccounts = `
    select ${accountColumns} from ${ids.sql} as given
    join account on account.id = given.id
    left join hold on hold.id = $2 and hold.account = account.id
    order by account.id for no key update of account`
  const writeNodeHolds = `
    insert into hold (${nodeHoldColumns})
    select $2, account, 'node', $3, amount, spare, booked, cast($4 as bigint)
    from ${holds.sql} as given where true
    on conflict (id, account) do update
    set amount = excluded.amount, spare = excluded.spare, booked = excluded.booked, wanted = 0`
  const changeAccounts = `
    update account set spent = account.spent + given.spent, held = account.held + given.held
    from ${changes.sql} as given where account.id = given.id`
  return {
    async lockAccounts (queries, accounts, term) {
      return await queries.all<AccountRow>(lockAccounts, [ids.parameter(accounts), term])
    },

    async writeNodeHolds (queries, term, node, nowMs, rows) {
      if (rows.length > 0) await queries.run(writeNodeHolds, [holds.parameter(rows), term, node, nowMs])
    },

    async changeAccounts (queries, rows) {
      if (rows.length > 0) await queries.run(changeAccounts, [changes.parameter(rows)])
    }
  }
}
