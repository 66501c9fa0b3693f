import { createJsonIds, createJsonRows } from '../../../store/json-rows.ts'
import type { Queries, Store } from '../../../store/store.ts'
import type { ChainRow, DurableRow, EndedRow, NewHoldRow } from './rows.ts'

interface KeyState { id: string, revokedAt: number | null, isValid: number }

/** Creates the statements that are alike on all engines; most lines are SQL. */
export function commonStatements (engine: Store['engine']) {
  const ids = createJsonIds(engine)
  const chains = createJsonRows<ChainRow>(engine, { id: 'text', account: 'text' })
  const holds = createJsonRows<NewHoldRow>(engine, {
    id: 'text', account: 'text', amount: 'bigint', api_key: 'text', expires_at: 'bigint'
  })
  const ended = createJsonRows<EndedRow>(engine, { id: 'text', state: 'bigint', settled: 'bigint', open: 'bigint' })
  const insertChains = `
    insert into chain (id, account) select id, account from ${chains.sql} as given where true
    on conflict do nothing`
  const readDurable = `
    select id, account, amount as "amountNano", state from hold
    where id in (select id from ${ids.sql} as given) order by id, account`
  const readBooked = `
    select idempotency_key as key from entry where idempotency_key in (select id from ${ids.sql} as given)`
  const insertDurable = `
    insert into hold (id, account, kind, owner, amount, created_at, expires_at)
    select id, account, 'job', $2, amount, now_ms(), expires_at from ${holds.sql} as given`
  const endDurable = `
    update hold set state = given.state, settled = given.settled, resolved_at = now_ms()
    from ${ended.sql} as given where hold.id = given.id and hold.state = 0`
  const readKeys = `
    select id, revoked_at as "revokedAt",
      revoked_at is null and (expires_at is null or expires_at > now_ms()) as "isValid"
    from api_key where id in (select id from ${ids.sql} as given)`
  return {
    /** Locks the node's row, so that its holds are not released meanwhile; false if they have been. */
    async heartbeat (queries: Queries, node: string, epoch: number, requestMs: number): Promise<boolean> {
      const renewed = await queries.run(
        'update node set heartbeat_at = now_ms(), request_ms = $3 where id = $1 and epoch = $2', [node, epoch, requestMs])
      return renewed === 1
    },

    /** The last booked sequence numbers of a term that has ended, by account. */
    async bookedSequences (queries: Queries, term: string): Promise<Map<string, number>> {
      const rows = await queries.all<{ account: string, sequence: number }>(
        'select account, booked_sequence as sequence from hold where id = $1', [term])
      return new Map(rows.map(({ account, sequence }) => [account, sequence]))
    },

    /** Returns the idempotency keys that have an entry. */
    async readBooked (queries: Queries, keys: Iterable<string>): Promise<Set<string>> {
      const rows = await queries.all<{ key: string }>(readBooked, [ids.parameter(keys)])
      return new Set(rows.map(({ key }) => key))
    },

    async insertChains (queries: Queries, rows: readonly ChainRow[]): Promise<void> {
      if (rows.length > 0) await queries.run(insertChains, [chains.parameter(rows)])
    },

    async readDurable (queries: Queries, holds: Iterable<string>): Promise<DurableRow[]> {
      return await queries.all<DurableRow>(readDurable, [ids.parameter(holds)])
    },

    async insertDurable (queries: Queries, node: string, rows: readonly NewHoldRow[]): Promise<void> {
      if (rows.length > 0) await queries.run(insertDurable, [holds.parameter(rows), node])
    },

    async endDurable (queries: Queries, rows: readonly EndedRow[]): Promise<void> {
      if (rows.length > 0) await queries.run(endDurable, [ended.parameter(rows)])
    },

    async readKeys (queries: Queries, keys: Iterable<string>): Promise<KeyState[]> {
      return await queries.all<KeyState>(readKeys, [ids.parameter(keys)])
    }
  }
}

export type CommonStatements = ReturnType<typeof commonStatements>
