import { createJsonRows } from '../store/json-rows.ts'
import type { Queries, Store } from '../store/store.ts'

/** How long slots belong to a node without another heartbeat. */
export const slotLeaseMs = 15_000

/** Creates the leases of one node on slots; methods run in the caller's transaction. */
export function createSlotLeases (engine: Store['engine'], node: string) {
  const scopes = createJsonRows<{ scope: string }>(engine, { scope: 'text' })
  const leased = createJsonRows<{ scope: string, slots: number, expires: number }>(engine,
    { scope: 'text', slots: 'bigint', expires: 'bigint' })

  return {
    async ofOthers (queries: Queries, asked: readonly string[], nowMs: number): Promise<Map<string, number>> {
      if (asked.length === 0) return new Map()
      const rows = await queries.all<{ scope: string, slots: number }>(`
        select scope, cast(sum(slots) as bigint) as slots from slot_lease
        where scope in (select scope from ${scopes.sql} as asked)
          and node <> $2 and expires_at > cast($3 as bigint) group by scope`,
      [scopes.parameter(asked.map(scope => ({ scope }))), node, nowMs])
      return new Map(rows.map(({ scope, slots }) => [scope, slots]))
    },

    async renew (
      queries: Queries, leases: readonly { scope: string, slots: number }[], nowMs: number
    ): Promise<void> {
      const expires = nowMs + slotLeaseMs
      const renewed = leases.filter(({ slots }) => slots > 0).map(lease => ({ ...lease, expires }))
      const ended = leases.filter(({ slots }) => slots <= 0).map(({ scope }) => ({ scope }))
      if (renewed.length > 0) {
        await queries.run(`
          insert into slot_lease (scope, node, slots, expires_at)
          select scope, cast($2 as text), slots, expires from ${leased.sql} as fresh where true
          on conflict (scope, node) do update set slots = excluded.slots, expires_at = excluded.expires_at`,
        [leased.parameter(renewed), node])
      }
      if (ended.length === 0) return
      await queries.run(
        `delete from slot_lease where node = $2 and scope in (select scope from ${scopes.sql} as ended)`,
        [scopes.parameter(ended), node])
    }
  }
}
