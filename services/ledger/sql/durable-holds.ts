import { createJsonIds, createJsonRows } from '../../store/json-rows.ts'
import type { Queries, Store, Value } from '../../store/store.ts'

/** The values of `hold.state`; a hold is `revoked` when its owner has died or its time is over. */
export const holdState = { open: 0, settled: 1, released: 2, revoked: 3 } as const

export interface DurableRow { id: string, account: string, amountNano: number, state: number }

export interface NewHoldRow extends Record<string, Value> {
  id: string
  account: string
  amount: number
  api_key: string
  expires_at: number
}

/** `settled` is what was charged, in nano-USD. */
export interface EndedRow extends Record<string, Value> { id: string, state: number, settled: number | null }

interface KeyState { id: string, revokedAt: number | null, expiresAt: number | null }

/** The statements on durable holds, for one engine. */
export function durableHoldStatements (engine: Store['engine']) {
  const ids = createJsonIds(engine)
  const holds = createJsonRows<NewHoldRow>(engine, {
    id: 'text', account: 'text', amount: 'bigint', api_key: 'text', expires_at: 'bigint'
  })
  const ended = createJsonRows<EndedRow>(engine, { id: 'text', state: 'bigint', settled: 'bigint' })
  const readDurable = `
    select id, account, amount as "amountNano", state from hold
    where id in (select id from ${ids.sql} as given) order by id, account`
  const insertDurable = `
    insert into hold (id, account, kind, owner, amount, created_at, expires_at)
    select id, account, 'job', $2, amount, now_ms(), expires_at from ${holds.sql} as given
    where exists (
      select 1 from api_key where api_key.id = given.api_key and api_key.revoked_at is null
      and (api_key.expires_at is null or api_key.expires_at > now_ms()))
    returning id`
  const endDurable = `
    update hold set state = given.state, settled = given.settled, resolved_at = now_ms()
    from ${ended.sql} as given where hold.id = given.id and hold.state = 0`
  const readKeys = `
    select id, revoked_at as "revokedAt", expires_at as "expiresAt" from api_key
    where id in (select id from ${ids.sql} as given)`
  return {
    async readDurable (queries: Queries, holds: Iterable<string>): Promise<DurableRow[]> {
      return await queries.all<DurableRow>(readDurable, [ids.parameter(holds)])
    },

    /** Returns the ids inserted: those whose key is valid. */
    async insertDurable (
      queries: Queries, node: string, rows: readonly NewHoldRow[]
    ): Promise<Set<string>> {
      const inserted = await queries.all<{ id: string }>(insertDurable, [holds.parameter(rows), node])
      return new Set(inserted.map(({ id }) => id))
    },

    async endDurable (queries: Queries, rows: readonly EndedRow[]): Promise<void> {
      if (rows.length > 0) await queries.run(endDurable, [ended.parameter(rows)])
    },

    async readKeys (queries: Queries, keys: Iterable<string>): Promise<KeyState[]> {
      return await queries.all<KeyState>(readKeys, [ids.parameter(keys)])
    }
  }
}
