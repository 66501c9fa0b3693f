import { createJsonIds, createJsonRows } from '../../../store/json-rows.ts'
import { accountRowColumns, entryColumns, peersWithAllowance } from './rows.ts'
import type { AccountRow, BalanceRow, EngineStatements, EntryRow, WriteOutcome } from './rows.ts'

/** The statements for Postgres, where other nodes and operators write at the same time. */
export function postgresStatements (): EngineStatements {
  const ids = createJsonIds('postgres')
  const balances = createJsonRows<BalanceRow>('postgres', { id: 'text', spent: 'bigint', held: 'bigint' })
  const entries = createJsonRows<EntryRow>('postgres', entryColumns)
  const readAccounts = `
    select ${accountRowColumns} from ${ids.sql} as given
    join account on account.id = given.id
    left join hold on hold.id = $2 and hold.account = account.id`
  // `no key`: inserting rows that only refer to an account need not wait.
  const locked = `
    select account.id from ${ids.sql} as given join account on account.id = given.id
    order by account.id for no key update of account`
  const changeAccounts = `
    update account set spent = account.spent + given.spent, held = account.held + given.held
    from ${balances.sql} as given where account.id = given.id`
  const columns = Object.keys(entryColumns).join(', ')
  const insertEntries = `insert into entry (${columns}) select ${columns} from ${entries.sql} as given`
  // A locked row is being written by its node, which may have something spare afterwards.
  const requestSpare = `
    update hold set spare_requested = 1 where (id, account) in (
      select id, account from hold
      where account in (select id from ${ids.sql} as given) and ${peersWithAllowance} for update skip locked)`
  return {
    async readAccounts (queries, accounts, term) {
      return await queries.all<AccountRow>(readAccounts, [ids.parameter(accounts), term])
    },

    async lockAccounts (queries, accounts) {
      await queries.all(locked, [ids.parameter(accounts)])
    },

    async unlockedOf (queries, accounts) {
      const rows = await queries.all<{ id: string }>(`${locked} skip locked`, [ids.parameter(accounts)])
      return rows.map(({ id }) => id)
    },

    async changeAccounts (queries, rows) {
      if (rows.length > 0) await queries.run(changeAccounts, [balances.parameter(rows)])
    },

    async insertEntries (queries, rows) {
      if (rows.length > 0) await queries.run(insertEntries, [entries.parameter(rows)])
    },

    async requestSpare (queries, term, leaseMs, short) {
      await queries.run(requestSpare, [ids.parameter(short), term, leaseMs])
    },

    /** One statement, at whose end nothing is locked any more, whatever happens to this process. */
    async writeCommit (queries, rows) {
      const { node, term, epoch, requestMs, accounts, chains, entries, ended, holds } = rows
      const lists = [JSON.stringify(accounts), ...[chains, entries, ended, holds].map(orNull)]
      const row = await queries.get<{ outcome: string | null }>(
        'select commit_ledger($1, $2, $3, $4, $5, $6, $7, $8, $9) as outcome', [node, term, epoch, requestMs, ...lists])
      return outcomeOf(row?.outcome ?? null)
    }
  }
}

function orNull (rows: readonly object[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows)
}

function outcomeOf (text: string | null): WriteOutcome {
  if (text === null) return { result: 'written', accounts: [] }
  const [result, ...accounts] = text.split(' ')
  if (result === 'ended' || result === 'changed' || result === 'locked') return { result, accounts }
  throw new Error(`commit_ledger returned ${text}`)
}
