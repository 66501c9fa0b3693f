import type { Queries, Store, Value } from '../../store/store.ts'
import { bookStatements } from './book-statements.ts'
import { standingStatements } from './account-state-statements.ts'
import { createIdTable, createTable } from '../../store/json-rows.ts'

/** One row of a hold with a row of its own. */
export interface DurableRow { id: string, account: string, amountNano: number, state: number }

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

/** What a key is like that a hold was refused for. */
export interface KeyState { id: string, revokedAt: number | null, expiresAt: number | null }

/**
 * The statements of a commit; each takes the queries of its transaction. What writes rows does nothing when
 * there are none.
 */
export type Statements = ReturnType<typeof createStatements>

/**
 * Writes the statements of a commit for one engine. Their texts are put together once: the engine finds what
 * it has prepared by a text, faster by the same one than by one that is like it.
 */
export function createStatements (engine: Store['engine']) {
  return {
    ...standingStatements(engine),
    ...termStatements,
    ...recallStatements(engine),
    ...durableStatements(engine),
    ...bookStatements(engine)
  }
}

const termStatements = {
  /**
   * Renews the node's sign of life, and keeps others from giving its holds back meanwhile; false when one
   * has.
   */
  async fence (queries: Queries, node: string, epoch: number, nowMs: number): Promise<boolean> {
    const renewed = await queries.run(
      'update node set beat = $3 where id = $1 and epoch = $2', [node, epoch, nowMs])
    return renewed === 1
  },

  /** Up to which number the settlements of a term that has ended are in the books, by account. */
  async bookedUnder (queries: Queries, term: string): Promise<Map<string, number>> {
    const rows = await queries.all<{ account: string, booked: number }>(
      'select account, booked from hold where id = $1', [term])
    return new Map(rows.map(({ account, booked }) => [account, booked]))
  }
}

function recallStatements (engine: Store['engine']) {
  const accounts = createIdTable(engine)
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
      const params = [accounts.parameter(short), term, aliveSinceMs]
      const rows = await queries.all<{ account: string, spareNano: number }>(spareOfOthers, params)
      if (rows.length > 0) await queries.run(askOthers, params)
      return new Map(rows.map(({ account, spareNano }) => [account, spareNano]))
    }
  }
}

function durableStatements (engine: Store['engine']) {
  const ids = createIdTable(engine)
  const taken = createTable<NewHoldRow>(engine, {
    id: 'text', account: 'text', kind: 'text', amount: 'bigint', api_key: 'text', expires_at: 'bigint'
  })
  const resolved = createTable<ResolvedRow>(engine, { id: 'text', state: 'bigint', settled: 'bigint' })
  const readDurable = `
    select id, account, amount as "amountNano", state from hold
    where id in (select id from ${ids.sql} as given) order by id, account`
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
    where id in (select id from ${ids.sql} as given)`
  return {
    async readDurable (queries: Queries, holds: Iterable<string>): Promise<DurableRow[]> {
      return await queries.all<DurableRow>(readDurable, [ids.parameter(holds)])
    },

    /** Returns the ids that were taken: all but those whose key is unknown, revoked or expired by now. */
    async insertDurable (
      queries: Queries, node: string, nowMs: number, rows: readonly NewHoldRow[]
    ): Promise<Set<string>> {
      const inserted = await queries.all<{ id: string }>(insertDurable, [taken.parameter(rows), node, nowMs])
      return new Set(inserted.map(({ id }) => id))
    },

    async resolveDurable (queries: Queries, nowMs: number, rows: readonly ResolvedRow[]): Promise<void> {
      if (rows.length > 0) await queries.run(resolveDurable, [resolved.parameter(rows), nowMs])
    },

    async readKeys (queries: Queries, keys: Iterable<string>): Promise<KeyState[]> {
      return await queries.all<KeyState>(readKeys, [ids.parameter(keys)])
    }
  }
}
