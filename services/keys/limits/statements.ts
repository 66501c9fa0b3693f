import type { LimitKind } from '../../shared/limits.ts'
import { createJsonRows } from '../../store/json-rows.ts'
import type { Queries, Store } from '../../store/store.ts'
import type { Window } from './window.ts'

/** How long slots belong to a node without another heartbeat. */
export const slotLeaseMs = 15_000

interface LimitId { scope: string, kind: LimitKind }

/** The rows of one limit. */
export interface FoundRow {
  /** Null without a row. For slots, `used` is the number of exchanges. */
  window: Window | null
  slotsOfOthers: number
}

/** The changes of one limit. */
export interface ChangedRow extends LimitId {
  /** The row as read, or null. */
  known: Window | null
  window: Window
  /** The slots that the node leases from now on; null for a rate. */
  slots: number | null
}

export function idOf ({ scope, kind }: LimitId): string {
  return `${kind} ${scope}`
}

/** Creates the statements by which one node exchanges allowances and leases slots. */
export function createAllowanceStatements (engine: Store['engine'], node: string) {
  const requested = createJsonRows<{ scope: string, kind: string }>(engine, { scope: 'text', kind: 'text' })
  const changed = createJsonRows<FlatRow>(engine, {
    scope: 'text',
    kind: 'text',
    minute: 'bigint',
    used: 'bigint',
    previous: 'bigint',
    slots: 'bigint',
    known_minute: 'bigint',
    known_used: 'bigint',
    known_previous: 'bigint'
  })
  const read = `
    select given.scope, given.kind, minute, used, previous, coalesce((
      select cast(sum(slots) as bigint) from slot_lease
      where given.kind = 'concurrent' and slot_lease.scope = given.scope
        and node <> $2 and expires_at > cast($3 as bigint)), 0) as "slotsOfOthers"
    from ${requested.sql} as given
    left join rate_window on rate_window.scope = given.scope and rate_window.kind = given.kind`
  const { writeWindows, writeIfUnchanged } = statementsOf(changed.sql)

  return {
    async read (
      queries: Queries, limits: readonly LimitId[], nowMs: number
    ): Promise<Map<string, FoundRow>> {
      const given = requested.parameter(limits.map(({ scope, kind }) => ({ scope, kind })))
      const rows = await queries.all<ReadRow>(read, [given, node, nowMs])
      return new Map(rows.map(({ minute, used, previous, slotsOfOthers, ...id }) => {
        return [idOf(id), { window: minute === null ? null : { minute, used, previous }, slotsOfOthers }]
      }))
    },

    /**
     * Writes windows and leases, which end at `expiresAt`. Returns the ids of the written limits:
     * on Postgres, those whose rows are unchanged and not locked.
     */
    async write (queries: Queries, rows: readonly ChangedRow[], expiresAt: number): Promise<Set<string>> {
      const given = changed.parameter(rows.map(flat))
      if (engine === 'postgres') {
        return new Set((await queries.all<LimitId>(writeIfUnchanged, [given, node, expiresAt])).map(idOf))
      }
      await queries.run(writeWindows, [given])
      if (rows.some(({ slots }) => slots !== null)) {
        await queries.run(renewLeases(`${changed.sql} as given`), [given, node, expiresAt])
        await queries.run(endLeases(`${changed.sql} as given`), [given, node])
      }
      return new Set(rows.map(idOf))
    }
  }
}

type ReadRow = LimitId & { slotsOfOthers: number } & (Window | { [Name in keyof Window]: null })

type FlatRow = Record<'scope' | 'kind', string> & Record<keyof Window, number> &
  Record<'slots' | 'known_minute' | 'known_used' | 'known_previous', number | null>

function flat ({ scope, kind, known, window: { minute, used, previous }, slots }: ChangedRow): FlatRow {
  return {
    scope,
    kind,
    minute,
    used,
    previous,
    slots,
    known_minute: known?.minute ?? null,
    known_used: known?.used ?? null,
    known_previous: known?.previous ?? null
  }
}

const renewLeases = (rows: string): string => `
  insert into slot_lease (scope, node, slots, expires_at)
  select scope, $2, slots, cast($3 as bigint) from ${rows} where slots > 0
  on conflict (scope, node) do update set slots = excluded.slots, expires_at = excluded.expires_at`

const endLeases = (rows: string): string => `
  delete from slot_lease where node = $2 and scope in (select scope from ${rows} where slots = 0)`

function statementsOf (given: string): { writeWindows: string, writeIfUnchanged: string } {
  const writeWindows = `
    insert into rate_window (scope, kind, minute, used, previous)
    select scope, kind, minute, used, previous from ${given} as given where true
    on conflict (scope, kind) do update set
      minute = excluded.minute, used = excluded.used, previous = excluded.previous`
  const writeIfUnchanged = `
    with given as (select * from ${given} as given),
    unchanged as materialized (
      select given.* from given join rate_window
        on rate_window.scope = given.scope and rate_window.kind = given.kind and rate_window.minute = known_minute
        and rate_window.used = known_used and rate_window.previous = known_previous
      for no key update of rate_window skip locked
    ),
    updated as (
      update rate_window set minute = unchanged.minute, used = unchanged.used, previous = unchanged.previous
      from unchanged where rate_window.scope = unchanged.scope and rate_window.kind = unchanged.kind
      returning rate_window.scope, rate_window.kind
    ),
    inserted as (
      insert into rate_window (scope, kind, minute, used, previous)
      select scope, kind, minute, used, previous from given where known_minute is null order by scope, kind
      on conflict do nothing returning scope, kind
    ),
    written as (
      select given.* from given join (select * from updated union all select * from inserted) as rows
      using (scope, kind)
    ),
    renewed as (${renewLeases('written')}),
    ended as (${endLeases('written')})
    select scope, kind from written`
  return { writeWindows, writeIfUnchanged }
}
