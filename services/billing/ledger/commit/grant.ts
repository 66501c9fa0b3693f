import type { GatewayError } from '../../../shared/errors.ts'
import { budgetPrefix } from '../accounts.ts'
import { FundsHeld, insufficientQuota, unknownAccount, type ShortOf } from '../errors.ts'
import { forgetIfEmpty, type NodeAllowance, type Term } from '../node-allowance.ts'
import type { LedgerOptions } from '../options.ts'
import type { AccountWrite, AccountRow } from '../sql/rows.ts'
import type { PendingReservation } from '../types.ts'
import type { BalanceChange } from './postings.ts'

/**
 * One account in the middle of a commit: its row as it was read and locked, this node's allowance, and what
 * the commit changes. Integer nano-USD.
 *
 * What a commit takes from the allowance is gone at once and for good; what it adds comes with `acknowledge`,
 * once the database has committed. So nothing has to be undone when a commit fails or its outcome is unknown,
 * and nothing is granted from money that the database may already have given to others.
 */
export interface AccountState {
  readonly row: AccountRow
  readonly allowance: NodeAllowance
  readonly change: BalanceChange
  /** Others take its money at the same time, so it counts as held. */
  readonly isContested: boolean
  /** What the row of the allowance will be. */
  allowedNano: number
  grantedNano: number
  /** What durable holds add to `held`. */
  durableNano: number
}

/** Returns an account after the settlements of a commit, before its reservations. */
export function createAccountState (
  { row, allowance, change, isContested }: Pick<AccountState, 'row' | 'allowance' | 'change' | 'isContested'>
): AccountState {
  return {
    row,
    allowance,
    change,
    isContested,
    allowedNano: allowance.grantedNano - change.postedNano,
    grantedNano: 0,
    durableNano: 0
  }
}

/** Returns what will be held of the account. */
export function heldNano ({ row, change, allowedNano, durableNano }: AccountState): number {
  return row.heldNano - row.allowanceNano + allowedNano - change.releasedNano + durableNano
}

/** What the account has not spent. */
export function balanceNano ({ row, change }: AccountState): number {
  return row.creditsNano - row.spentNano - change.spentNano
}

/** What the account has left beside everything that is held. */
export function availableNano (state: AccountState): number {
  const nano = balanceNano(state) - heldNano(state)
  return state.isContested ? Math.min(0, nano) : nano
}

/** What of the allowance no request uses. */
export function spareNano ({ allowance, change, allowedNano, grantedNano }: AccountState): number {
  const stillPostedNano = allowance.postedNano - change.postedNano - change.suspendedNano
  return allowedNano - allowance.inFlightNano - stillPostedNano - grantedNano
}

/** Returns what is written of an account; null if it stays as it is. */
export function changeOf (state: AccountState): AccountWrite | null {
  const { row, change, allowedNano } = state
  const isUsed = row.allowanceNano > 0 || allowedNano > 0 || change.sequence > row.bookedSequence
  const held = heldNano(state) - row.heldNano
  if (!isUsed && change.spentNano === 0 && held === 0) return null
  return {
    id: row.id,
    spent: change.spentNano,
    held,
    known_amount: row.allowanceNano,
    known_sequence: row.bookedSequence,
    seen_request: row.spareRequested,
    amount: isUsed ? allowedNano : null,
    spare: Math.max(0, spareNano(state)),
    booked_sequence: Math.max(row.bookedSequence, change.sequence)
  }
}

/** Makes the allowance in memory what the database has acknowledged, as of a time of the monotonic clock. */
export function acknowledge (state: AccountState, term: Term, atMs: number): void {
  const { allowance, change, allowedNano, grantedNano } = state
  allowance.grantedNano = allowedNano
  allowance.inFlightNano += grantedNano
  allowance.postedNano -= change.postedNano + change.suspendedNano
  allowance.available = { nano: availableNano(state), unspentNano: balanceNano(state), atMs }
  if (grantedNano > 0) Object.assign(allowance, { usedAtMs: atMs, idle: false })
  forgetIfEmpty(term, allowance, atMs)
}

/** A reservation with the accounts of its chain. */
export interface LockedReservation { reservation: PendingReservation, states: readonly AccountState[] }

interface GrantResult {
  readonly granted: LockedReservation[]
  /** Short of money on some account of the chain. */
  readonly short: LockedReservation[]
  readonly refused: { reservation: PendingReservation, error: GatewayError }[]
}

/** Grants in order, on a whole chain or not at all; synchronous, so memory grants nothing in between. */
export function grant (
  reservations: readonly PendingReservation[], accounts: ReadonlyMap<string, AccountState>
): GrantResult {
  const result: GrantResult = { granted: [], short: [], refused: [] }
  for (const reservation of reservations) {
    const missing = reservation.chain.find((account) => !accounts.has(account))
    if (missing !== undefined) {
      result.refused.push({ reservation, error: unknownAccount(missing) })
      continue
    }
    const states = reservation.chain.flatMap((account) => accounts.get(account) ?? [])
    const take = reservation.durable === null ? takeFromAllowances : takeDurable
    result[take(reservation, states) ? 'granted' : 'short'].push({ reservation, states })
  }
  return result
}

/** Longer than a short node waits before it tries again. */
const yieldMs = 200

/**
 * Adjusts what the node keeps spare to the chunk, but at most an eighth of what the account has left, and to
 * nothing if the account is idle here or another node has requested it. Only accounts just used get more.
 */
export function balanceSpare (
  state: AccountState, { chunkNano }: Pick<LedgerOptions, 'chunkNano'>, nowMs: number
): void {
  const { row, allowance } = state
  if (row.spareRequested !== 0) allowance.yieldUntilMs = nowMs + yieldMs
  const leftNano = Math.max(0, withinReachNano(state))
  const isUsed = state.grantedNano > 0
  const yields = (allowance.idle && !isUsed) || nowMs < allowance.yieldUntilMs
  const targetNano = yields ? 0 : Math.min(chunkNano, Math.floor(leftNano / 8))
  const excessNano = spareNano(state) - targetNano
  // What suspended settlements free stays for now: if this commit is refused, they may be charged after all.
  const surplusNano = excessNano - state.change.suspendedNano
  if (surplusNano > 0) shrink(state, Math.min(surplusNano, state.allowedNano))
  if (excessNano < 0 && isUsed) state.allowedNano += Math.min(-excessNano, Math.max(0, availableNano(state)))
}

/** Returns 402 if an account has spent too much to cover the amount, else FundsHeld. */
export function shortageError ({ reservation, states }: LockedReservation): GatewayError {
  const { amountNano, chain } = reservation
  const poor = states.find((state) => amountNano > balanceNano(state))
  if (poor !== undefined) {
    return insufficientQuota({
      of: shortOf(chain, poor.row.id),
      balanceNano: balanceNano(poor),
      heldNano: heldNano(poor) - Math.max(0, spareNano(poor)),
      neededNano: amountNano
    })
  }
  const short = states.find((state) => amountNano > withinReachNano(state))
  return new FundsHeld(short?.row.id ?? chain[0] ?? '', amountNano)
}

function shortOf ([payer]: readonly string[], account: string): ShortOf {
  if (account === payer) return 'account'
  return account.startsWith(budgetPrefix) ? 'budget' : 'parent'
}

function takeFromAllowances ({ amountNano }: PendingReservation, states: readonly AccountState[]): boolean {
  const isCovered = (state: AccountState) => {
    const growthNano = amountNano - spareNano(state)
    return growthNano <= 0 || growthNano <= availableNano(state)
  }
  if (!states.every(isCovered)) return false
  for (const state of states) {
    const spare = spareNano(state)
    state.allowance.grantedNano -= Math.min(amountNano, Math.max(0, spare))
    state.allowedNano += Math.max(0, amountNano - spare)
    state.grantedNano += amountNano
  }
  return true
}

function takeDurable ({ amountNano }: PendingReservation, states: readonly AccountState[]): boolean {
  if (states.some((state) => amountNano > withinReachNano(state))) return false
  for (const state of states) {
    const lackingNano = amountNano - availableNano(state)
    if (lackingNano > 0) shrink(state, lackingNano)
    state.durableNano += amountNano
  }
  return true
}

/** What the account could still cover from this node, once its requests are covered. */
function withinReachNano (state: AccountState): number {
  return availableNano(state) + spareNano(state)
}

function shrink (state: AccountState, amountNano: number): void {
  state.allowedNano -= amountNano
  state.allowance.grantedNano -= amountNano
}
