import { createTable } from '../store/json-rows.ts'
import type { Queries, Store } from '../store/store.ts'
import type { LimitKind } from '../shared/limits.ts'
import { leftOf, waitFor } from './window.ts'
import type { Window } from './window.ts'

/** What a node wants of one limit. Amounts are requests, tokens or slots. */
export interface Ask {
  scope: string
  kind: LimitKind
  limit: number
  /** The minute it is for, counted from 1970. */
  minute: number
  /** Of a rate: what was used beyond what was granted, booked in any case. Of slots: those in use. */
  owed: number
  /** Less than this is of no use; 0 when nobody waits. */
  need: number
  /** What requests wait for in all. */
  waiting: number
  /** How much is asked for, at least what is waited for. */
  want: number
  /** What was granted for a minute and is not going to be used. */
  returned: { minute: number, amount: number } | null
}

export interface Answer {
  ask: Ask
  /** Of a rate, how much more may be used in `minute`; of slots, how many there are in all. */
  granted: number
  /** How long until what was needed may be there; ms. */
  waitMs: number
  /** What all nodes have taken; of slots, `used` is what the other nodes have. */
  window: Window
}

/** How long slots are a node's without another sign of it. */
export const slotLeaseMs = 15_000
/** How soon to ask again for slots, which come back at no time that is known. */
const slotWaitMs = 1000
/** Of what is left, one node takes no more than this part at once, unless somebody needs it. */
const share = 4

/** Carries what one node wants to the store, all in one transaction. Throws StoreUnavailable. */
export function createLeases (
  store: Store, node: string
): (asks: readonly Ask[], nowMs: number) => Promise<Answer[]> {
  const asked = createTable<{ scope: string, kind: string, minute: number }>(store.engine,
    { scope: 'text', kind: 'text', minute: 'bigint' })
  const counted = createTable<{ scope: string, kind: string, used: number, previous: number }>(store.engine,
    { scope: 'text', kind: 'text', used: 'bigint', previous: 'bigint' })
  const scopes = createTable<{ scope: string }>(store.engine, { scope: 'text' })
  const leased = createTable<{ scope: string, slots: number, expires: number }>(store.engine,
    { scope: 'text', slots: 'bigint', expires: 'bigint' })

  /** The windows as they are now, locked until the transaction ends. */
  async function lock (queries: Queries, asks: readonly Ask[]): Promise<Map<string, Window>> {
    const rows = await queries.all<Window & { scope: string, kind: string }>(`
      insert into rate_window (scope, kind, minute, used, previous)
      select scope, kind, minute, 0, 0 from ${asked.sql} as asked where true order by scope, kind
      on conflict (scope, kind) do update set
        previous = case when excluded.minute <= rate_window.minute then rate_window.previous
          when excluded.minute = rate_window.minute + 1 then rate_window.used else 0 end,
        used = case when excluded.minute <= rate_window.minute then rate_window.used else 0 end,
        minute = case when excluded.minute > rate_window.minute then excluded.minute else rate_window.minute end
      returning scope, kind, minute, used, previous`,
    [asked.parameter(asks.map(({ scope, kind, minute }) => ({ scope, kind, minute })))])
    return new Map(rows.map(({ scope, kind, minute, used, previous }) => {
      return [`${kind} ${scope}`, { minute, used, previous }]
    }))
  }

  async function slotsOfOthers (
    queries: Queries, asks: readonly Ask[], nowMs: number
  ): Promise<Map<string, number>> {
    if (asks.length === 0) return new Map()
    const rows = await queries.all<{ scope: string, slots: number }>(`
      select scope, cast(sum(slots) as bigint) as slots from slot_lease
      where scope in (select scope from ${scopes.sql} as asked)
        and node <> $2 and expires_at > cast($3 as bigint) group by scope`,
    [scopes.parameter(asks.map(({ scope }) => ({ scope }))), node, nowMs])
    return new Map(rows.map(({ scope, slots }) => [scope, slots]))
  }

  async function writeRates (queries: Queries, answers: readonly Answer[]): Promise<void> {
    if (answers.length === 0) return
    const rows = answers.map(({ ask: { scope, kind }, window: { used, previous } }) => {
      return { scope, kind, used, previous }
    })
    await queries.run(`
      update rate_window set used = fresh.used, previous = fresh.previous from ${counted.sql} as fresh
      where rate_window.scope = fresh.scope and rate_window.kind = fresh.kind`, [counted.parameter(rows)])
  }

  async function writeSlots (queries: Queries, answers: readonly Answer[], nowMs: number): Promise<void> {
    if (answers.length === 0) return
    const expires = nowMs + slotLeaseMs
    const rows = answers.map(({ ask: { scope }, granted }) => ({ scope, slots: granted, expires }))
    const kept = rows.filter(({ slots }) => slots > 0)
    const given = rows.filter(({ slots }) => slots <= 0)
    if (kept.length > 0) {
      await queries.run(`
        insert into slot_lease (scope, node, slots, expires_at)
        select scope, cast($2 as text), slots, expires from ${leased.sql} as fresh where true
        on conflict (scope, node) do update set slots = excluded.slots, expires_at = excluded.expires_at`,
      [leased.parameter(kept), node])
    }
    if (given.length === 0) return
    await queries.run(`delete from slot_lease where node = $2 and scope in (select scope from ${scopes.sql} as given)`,
      [scopes.parameter(given.map(({ scope }) => ({ scope }))), node])
  }

  return async (asks, nowMs) => await store.transaction(async queries => {
    const windows = await lock(queries, asks)
    const slotAsks = asks.filter(({ kind }) => kind === 'concurrent')
    const others = await slotsOfOthers(queries, slotAsks, nowMs)
    const answers = asks.map(ask => {
      const window = windows.get(`${ask.kind} ${ask.scope}`) ?? { minute: ask.minute, used: 0, previous: 0 }
      if (ask.kind === 'concurrent') return grantSlots(ask, { ...window, used: others.get(ask.scope) ?? 0 })
      return grantRate(ask, window, nowMs)
    })
    await writeRates(queries, answers.filter(({ ask }) => ask.kind !== 'concurrent'))
    await writeSlots(queries, answers.filter(({ ask }) => ask.kind === 'concurrent'), nowMs)
    return answers
  })
}

function grantRate (ask: Ask, found: Window, nowMs: number): Answer {
  const window = { ...found }
  const { returned, limit, need, waiting } = ask
  if (returned?.minute === window.minute) window.used -= returned.amount
  if (returned?.minute === window.minute - 1) window.previous -= returned.amount
  window.used = Math.max(0, window.used) + ask.owed
  window.previous = Math.max(0, window.previous)
  const left = leftOf(window, limit, nowMs)
  const most = Math.max(waiting, Math.floor(left / share))
  const granted = left < need ? 0 : Math.max(0, Math.min(ask.want, most, left))
  const waitMs = granted === 0 && need > 0 ? waitFor(window, limit, need, nowMs) : 0
  window.used += granted
  return { ask, granted, waitMs, window }
}

function grantSlots (ask: Ask, window: Window): Answer {
  const free = ask.limit - window.used
  // Those in use are kept in any case: their requests run.
  const granted = Math.max(ask.owed, Math.min(ask.owed + ask.want, free))
  return { ask, granted, waitMs: granted < ask.owed + ask.need ? slotWaitMs : 0, window }
}

/** Forgets limits that nobody has used for an hour, and slots of nodes that are gone. */
export async function forgetLeases (store: Store, nowMs: number): Promise<void> {
  await store.run('delete from slot_lease where expires_at < cast($1 as bigint)', [nowMs - slotLeaseMs])
  await store.run('delete from rate_window where minute < cast($1 as bigint)', [Math.floor(nowMs / 60_000) - 60])
}
