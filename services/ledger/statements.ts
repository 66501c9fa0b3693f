import { createRowInsert } from '../store/insert-rows.ts'
import type { Queries, Store, Value } from '../store/store.ts'
import { createTable } from './table.ts'

/** An account as a commit finds it, and this node's hold on it. Integer nano-USD. */
export interface AccountRow {
  id: string
  creditsNano: number
  spentNano: number
  heldNano: number
  /** The node's own row; 0 when there is none. */
  rowNano: number
  /** 1 when another node asks for what is spare. */
  wanted: number
}

/** One row of a hold with a row of its own. */
export interface DurableRow { id: string, account: string, amountNano: number, state: number }

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

export interface NewHoldRow extends Record<string, Value> {
  id: string
  account: string
  kind: 'request' | 'job'
  amount: number
  api_key: string
  expires_at: number
}

export interface ResolvedRow extends Record<string, Value> {
  id: string
  state: number
  settled: number | null
}

export interface NodeHoldRow extends Record<string, Value> { account: string, amount: number, spare: number }
export interface ChangeRow extends Record<string, Value> { id: string, spent: number, held: number }
export interface ChainRow extends Record<string, Value> { id: string, account: string }

/** What a key is like that a hold was refused for. */
export interface KeyState { id: string, revokedAt: number | null, expiresAt: number | null }

/** The statements of a commit; each takes the queries of its transaction. */
export type Statements = ReturnType<typeof createStatements>

/**
 * Writes the statements of a commit for one engine. Their texts are put together once: the engine finds what
 * it has prepared by a text, faster by the same one than by one that is like it.
 */
export function createStatements (engine: Store['engine']) {
  const ids = createTable<{ id: string }>(engine, { id: 'text' })
  const idsOf = (list: Iterable<string>) => ids.parameter(Array.from(list, (id) => ({ id })))
  return {
    ...(engine === 'sqlite' ? standingStatementsOfSqlite : standingStatementsOfPostgres()),
    ...nodeStatements(engine),
    ...durableStatements(engine, ids.sql, idsOf),
    ...bookStatements(engine),

    /**
     * Renews the node's sign of life, and keeps others from giving its holds back meanwhile; false when one
     * has.
     */
    async fence (queries: Queries, node: string, epoch: number, nowMs: number): Promise<boolean> {
      const renewed = await queries.run(
        'update node set beat = $3 where id = $1 and epoch = $2', [node, epoch, nowMs])
      return renewed === 1
    }
  }
}

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

function bookStatements (engine: Store['engine']) {
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

const accountColumns = `
  account.id, credits as "creditsNano", spent as "spentNano", held as "heldNano",
  coalesce(hold.amount, 0) as "rowNano", coalesce(hold.wanted, 0) as wanted`
const nodeHoldColumns = 'id, account, kind, owner, amount, spare, created_at'
const nodeHoldChange =
  'on conflict (id, account) do update set amount = excluded.amount, spare = excluded.spare, wanted = 0'

/** In this process a statement for each row costs less than what it takes to unpack the rows from JSON. */
const standingStatementsOfSqlite: StandingStatements = {
  async lockAccounts (queries, accounts, term) {
    const rows: AccountRow[] = []
    for (const account of accounts) {
      const row = await queries.get<AccountRow>(lockAccount, [account, term])
      if (row !== undefined) rows.push(row)
    }
    return rows
  },

  async writeNodeHolds (queries, term, node, nowMs, rows) {
    for (const { account, amount, spare } of rows) {
      await queries.run(writeNodeHold, [term, account, node, amount, spare, nowMs])
    }
  },

  async changeAccounts (queries, rows) {
    for (const { id, spent, held } of rows) await queries.run(changeAccount, [id, spent, held])
  }
}
const lockAccount = `
  select ${accountColumns} from account left join hold on hold.id = $2 and hold.account = account.id
  where account.id = $1`
const writeNodeHold = `
  insert into hold (${nodeHoldColumns}) values ($1, $2, 'node', $3, $4, $5, $6) ${nodeHoldChange}`
const changeAccount = 'update account set spent = spent + $2, held = held + $3 where id = $1'

function standingStatementsOfPostgres (): StandingStatements {
  const ids = createTable<{ id: string }>('postgres', { id: 'text' })
  const holds = createTable<NodeHoldRow>('postgres', { account: 'text', amount: 'bigint', spare: 'bigint' })
  const changes = createTable<ChangeRow>('postgres', { id: 'text', spent: 'bigint', held: 'bigint' })
  // `no key`, because rows that only refer to an account need not wait.
  const lockAccounts = `
    select ${accountColumns} from ${ids.sql} as given
    join account on account.id = given.id
    left join hold on hold.id = $2 and hold.account = account.id
    order by account.id for no key update of account`
  const writeNodeHolds = `
    insert into hold (${nodeHoldColumns})
    select $2, account, 'node', $3, amount, spare, cast($4 as bigint) from ${holds.sql} as given where true
    ${nodeHoldChange}`
  const changeAccounts = `
    update account set spent = account.spent + given.spent, held = account.held + given.held
    from ${changes.sql} as given where account.id = given.id`
  return {
    async lockAccounts (queries, accounts, term) {
      const given = ids.parameter(Array.from(accounts, (id) => ({ id })))
      return await queries.all<AccountRow>(lockAccounts, [given, term])
    },

    async writeNodeHolds (queries, term, node, nowMs, rows) {
      await queries.run(writeNodeHolds, [holds.parameter(rows), term, node, nowMs])
    },

    async changeAccounts (queries, rows) {
      await queries.run(changeAccounts, [changes.parameter(rows)])
    }
  }
}

function nodeStatements (engine: Store['engine']) {
  const accounts = createTable<{ id: string }>(engine, { id: 'text' })
  /** What living nodes other than `$2` had spare when they last wrote it; `$3` is the oldest sign of life. */
  const others = `
    kind = 'node' and state = 0 and spare > 0 and id <> $2 and account in (select id from ${accounts.sql} as given)
    and exists (select 1 from node where node.id = hold.owner and node.beat > $3)`
  const spareOfOthers = `
    select account, cast(sum(spare) as bigint) as "spareNano" from hold where ${others} group by account`
  const askOthers = `update hold set wanted = 1 where ${others}`
  return {
    /** Asks other nodes for what they have spare of some accounts, and returns how much that is. */
    async recall (
      queries: Queries, term: string, aliveSinceMs: number, short: readonly string[]
    ): Promise<Map<string, number>> {
      const params = [accounts.parameter(short.map((id) => ({ id }))), term, aliveSinceMs]
      const rows = await queries.all<{ account: string, spareNano: number }>(spareOfOthers, params)
      if (rows.length > 0) await queries.run(askOthers, params)
      return new Map(rows.map(({ account, spareNano }) => [account, spareNano]))
    }
  }
}

function durableStatements (engine: Store['engine'], ids: string, idsOf: (list: Iterable<string>) => string) {
  const taken = createTable<NewHoldRow>(engine, {
    id: 'text', account: 'text', kind: 'text', amount: 'bigint', api_key: 'text', expires_at: 'bigint'
  })
  const resolved = createTable<ResolvedRow>(engine, { id: 'text', state: 'bigint', settled: 'bigint' })
  const readDurable = `
    select id, account, amount as "amountNano", state from hold
    where id in (select id from ${ids} as given) order by id, account`
  const insertDurable = `
    insert into hold (id, account, kind, owner, amount, created_at, expires_at)
    select id, account, kind, $2, amount, cast($3 as bigint), expires_at from ${taken.sql} as given
    where exists (
      select 1 from api_key where api_key.id = given.api_key and api_key.revoked_at is null
      and (api_key.expires_at is null or api_key.expires_at > cast($3 as bigint)))
    returning id`
  const resolveDurable = `
    update hold set state = given.state, settled = given.settled, resolved_at = $2
    from ${resolved.sql} as given where hold.id = given.id and hold.state = 0`
  const readKeys = `
    select id, revoked_at as "revokedAt", expires_at as "expiresAt" from api_key
    where id in (select id from ${ids} as given)`
  return {
    async readDurable (queries: Queries, holds: Iterable<string>): Promise<DurableRow[]> {
      return await queries.all<DurableRow>(readDurable, [idsOf(holds)])
    },

    /** Returns the ids that were taken: all but those whose key is unknown, revoked or expired by now. */
    async insertDurable (
      queries: Queries, node: string, nowMs: number, rows: readonly NewHoldRow[]
    ): Promise<Set<string>> {
      const inserted = await queries.all<{ id: string }>(insertDurable, [taken.parameter(rows), node, nowMs])
      return new Set(inserted.map(({ id }) => id))
    },

    async resolveDurable (queries: Queries, nowMs: number, rows: readonly ResolvedRow[]): Promise<void> {
      await queries.run(resolveDurable, [resolved.parameter(rows), nowMs])
    },

    async readKeys (queries: Queries, keys: Iterable<string>): Promise<KeyState[]> {
      return await queries.all<KeyState>(readKeys, [idsOf(keys)])
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
