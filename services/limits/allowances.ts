import type { LimitKind } from '../shared/limits.ts'
import { createJsonRows } from '../store/json-rows.ts'
import type { Queries, Store } from '../store/store.ts'
import { createSlotLeases, slotLeaseMs } from './leases.ts'
import { leftOf, minuteMs, waitFor, type Window } from './window.ts'

/** A node's request for a part of one limit. Amounts are requests, tokens or slots. */
export interface AllowanceRequest {
  scope: string
  kind: LimitKind
  limit: number
  /** The minute it is for, counted from 1970. */
  minute: number
  /** Granted in any case: what was used beyond the allowance of a rate, or the slots in use. */
  taken: number
  /** The least that helps a waiting request; 0 when none waits. */
  need: number
  waiting: number
  /** The allowance requested, at least `waiting`. */
  wanted: number
  /** The part of a minute's allowance that will not be used. */
  returned: { minute: number, amount: number } | null
}

export interface AllowanceGrant {
  request: AllowanceRequest
  /** Of a rate, how much more may be used in `minute`; of slots, how many in total. */
  granted: number
  /** How long until `need` may be available, in ms. */
  waitMs: number
  /** What all nodes have taken; of slots, `used` is what the other nodes lease. */
  window: Window
}

/** When to ask again for slots: it is unknown when one is free. */
const slotWaitMs = 1000
/** One node takes at most this fraction of what is left, unless requests wait for more. */
const maxShare = 1 / 4

/** Returns a function that exchanges requests for grants in one transaction. Throws StoreUnavailable. */
export function createAllowanceExchange (
  store: Store, node: string
): (requests: readonly AllowanceRequest[], nowMs: number) => Promise<AllowanceGrant[]> {
  const requested = createJsonRows<{ scope: string, kind: string, minute: number }>(store.engine,
    { scope: 'text', kind: 'text', minute: 'bigint' })
  const counted = createJsonRows<{ scope: string, kind: string, used: number, previous: number }>(
    store.engine, { scope: 'text', kind: 'text', used: 'bigint', previous: 'bigint' })
  const leases = createSlotLeases(store.engine, node)

  async function lockWindows (
    queries: Queries, requests: readonly AllowanceRequest[]
  ): Promise<Map<string, Window>> {
    const rows = await queries.all<Window & { scope: string, kind: string }>(`
      insert into rate_window (scope, kind, minute, used, previous)
      select scope, kind, minute, 0, 0 from ${requested.sql} as requested where true order by scope, kind
      on conflict (scope, kind) do update set
        previous = case when excluded.minute <= rate_window.minute then rate_window.previous
          when excluded.minute = rate_window.minute + 1 then rate_window.used else 0 end,
        used = case when excluded.minute <= rate_window.minute then rate_window.used else 0 end,
        minute = case when excluded.minute > rate_window.minute then excluded.minute else rate_window.minute end
      returning scope, kind, minute, used, previous`,
    [requested.parameter(requests.map(({ scope, kind, minute }) => ({ scope, kind, minute })))])
    return new Map(rows.map(({ scope, kind, minute, used, previous }) => {
      return [`${kind} ${scope}`, { minute, used, previous }]
    }))
  }

  async function writeWindows (queries: Queries, grants: readonly AllowanceGrant[]): Promise<void> {
    if (grants.length === 0) return
    const rows = grants.map(({ request: { scope, kind }, window: { used, previous } }) => {
      return { scope, kind, used, previous }
    })
    await queries.run(`
      update rate_window set used = fresh.used, previous = fresh.previous from ${counted.sql} as fresh
      where rate_window.scope = fresh.scope and rate_window.kind = fresh.kind`, [counted.parameter(rows)])
  }

  return async (requests, nowMs) => await store.transaction(async queries => {
    const windows = await lockWindows(queries, requests)
    const windowOf = ({ kind, scope, minute }: AllowanceRequest): Window =>
      windows.get(`${kind} ${scope}`) ?? { minute, used: 0, previous: 0 }
    const forSlots = requests.filter(({ kind }) => kind === 'concurrent')
    const others = await leases.ofOthers(queries, forSlots.map(({ scope }) => scope), nowMs)
    const slots = forSlots.map(request =>
      grantSlots(request, { ...windowOf(request), used: others.get(request.scope) ?? 0 }))
    const rates = requests.filter(({ kind }) => kind !== 'concurrent')
      .map(request => grantRate(request, windowOf(request), nowMs))
    await writeWindows(queries, rates)
    const renewed = slots.map(({ request, granted }) => ({ scope: request.scope, slots: granted }))
    await leases.renew(queries, renewed, nowMs)
    return [...rates, ...slots]
  })
}

function grantRate (request: AllowanceRequest, found: Window, nowMs: number): AllowanceGrant {
  const window = { ...found }
  const { returned, limit, need, waiting } = request
  if (returned?.minute === window.minute) window.used -= returned.amount
  if (returned?.minute === window.minute - 1) window.previous -= returned.amount
  window.used = Math.max(0, window.used) + request.taken
  window.previous = Math.max(0, window.previous)
  const left = leftOf(window, limit, nowMs)
  const most = Math.max(waiting, Math.floor(left * maxShare))
  const granted = left < need ? 0 : Math.max(0, Math.min(request.wanted, most, left))
  const waitMs = granted === 0 && need > 0 ? waitFor(window, limit, need, nowMs) : 0
  window.used += granted
  return { request, granted, waitMs, window }
}

function grantSlots (request: AllowanceRequest, window: Window): AllowanceGrant {
  const { taken, need, wanted, limit } = request
  const free = limit - window.used
  const granted = Math.max(taken, Math.min(taken + wanted, free))
  return { request, granted, waitMs: granted < taken + need ? slotWaitMs : 0, window }
}

/** Deletes windows that were not used for an hour, and slot leases that have expired. */
export async function deleteExpiredLimits (store: Store, nowMs: number): Promise<void> {
  await store.run('delete from slot_lease where expires_at < cast($1 as bigint)', [nowMs - slotLeaseMs])
  await store.run('delete from rate_window where minute < cast($1 as bigint)', [Math.floor(nowMs / minuteMs) - 60])
}
