import { setTimeout as sleep } from 'node:timers/promises'
import type { LimitKind } from '../../shared/limits.ts'
import type { Queries, Store } from '../../store/store.ts'
import { createAllowanceStatements, idOf, slotLeaseMs, type ChangedRow, type FoundRow } from './statements.ts'
import { leftOf, minuteMs, rolled, waitFor, type Window } from './window.ts'

/** A node's request for a part of one limit. Amounts are requests, tokens or slots. */
export interface AllowanceRequest {
  scope: string
  kind: LimitKind
  limit: number
  /** Its minute, counted from 1970. */
  minute: number
  /** Always granted: the use beyond the allowance of a rate, or the slots in use. */
  taken: number
  /** The least that lets a waiting request go on; 0 if none waits. */
  need: number
  waiting: number
  /** The allowance requested, at least `waiting`. */
  wanted: number
  /** The returned part of a minute's allowance. */
  returned: { minute: number, amount: number } | null
}

export interface AllowanceGrant {
  request: AllowanceRequest
  /** For a rate, the additional allowance in `minute`; for slots, their total number. */
  granted: number
  /** How long until `need` may be available, in ms. */
  waitMs: number
  /** The use of all nodes; for slots, `used` is the number that other nodes lease. */
  window: Window
}

/** When to request slots again: it is unknown when one becomes free. */
const slotWaitMs = 1000
/** One node takes at most this fraction of the remainder, unless requests wait for more. */
const maxShare = 1 / 4

/** How often to retry with rows that other nodes have just changed, before they count as locked. */
const maxAttempts = 6
const maxPauseMs = 10

/**
 * Returns a function that exchanges requests for grants. A request gets no grant while another transaction
 * keeps its row locked. On SQLite an exchange is one transaction. On Postgres it reads rows without locks and
 * writes the unchanged ones in one statement, so that a node that hangs keeps nothing locked. Throws
 * StoreUnavailable.
 */
export function createAllowanceExchange (
  store: Store, node: string
): (requests: readonly AllowanceRequest[], nowMs: number) => Promise<AllowanceGrant[]> {
  const statements = createAllowanceStatements(store.engine, node)

  async function attempt (
    queries: Queries, requests: readonly AllowanceRequest[], nowMs: number
  ): Promise<AllowanceGrant[]> {
    const rows = await statements.read(queries, requests, nowMs)
    const decided = requests.map(request => decide(request, rows.get(idOf(request)), nowMs))
    const written = await statements.write(queries, decided.map(({ row }) => row), nowMs + slotLeaseMs)
    return decided.flatMap(({ row, grant }) => written.has(idOf(row)) ? [grant] : [])
  }

  return async (requests, nowMs) => {
    if (store.engine === 'sqlite') return await store.transaction(queries => attempt(queries, requests, nowMs))
    const grants: AllowanceGrant[] = []
    let left = requests
    for (let attempts = 1; ; attempts++) {
      // Writes before a failure count; the next exchange shows them.
      const granted = await attempt(store, left, nowMs).catch(error => {
        if (grants.length === 0) throw error
        return null
      })
      if (granted === null) return grants
      grants.push(...granted)
      if (granted.length === left.length || attempts === maxAttempts) return grants
      const done = new Set(granted.map(({ request }) => request))
      left = left.filter(request => !done.has(request))
      await sleep(Math.random() * maxPauseMs)
    }
  }
}

function decide (
  request: AllowanceRequest, found: FoundRow | undefined, nowMs: number
): { row: ChangedRow, grant: AllowanceGrant } {
  const { scope, kind, minute } = request
  const known = found?.window ?? null
  const window = known === null ? { minute, used: 0, previous: 0 } : rolled(known, minute)
  if (kind !== 'concurrent') {
    const grant = grantRate(request, window, nowMs)
    return { row: { scope, kind, known, window: grant.window, slots: null }, grant }
  }
  const grant = grantSlots(request, { ...window, used: found?.slotsOfOthers ?? 0 })
  // Every exchange changes leases, so `used` counts exchanges: others notice that the row has changed.
  const counted = { ...window, used: window.used + 1 }
  return { row: { scope, kind, known, window: counted, slots: grant.granted }, grant }
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

/** Deletes windows unused for an hour and expired slot leases. */
export async function deleteExpiredLimits (store: Store, nowMs: number): Promise<void> {
  await store.run('delete from slot_lease where expires_at < cast($1 as bigint)', [nowMs - slotLeaseMs])
  await store.run('delete from rate_window where minute < cast($1 as bigint)', [Math.floor(nowMs / minuteMs) - 60])
}
