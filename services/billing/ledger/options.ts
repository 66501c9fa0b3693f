import type { Store } from '../../store/store.ts'

/** Every limit and time of a ledger. Amounts are integer nano-USD. */
export interface LedgerOptions {
  /** The money a node keeps spare for coming requests; at most an eighth of what the account has left. */
  chunkNano: number
  /** How long settlements are collected before they are written. */
  flushMs: number
  batchSize: number
  /** The most settlements that wait for a database that is away; beyond, reservations are refused. */
  maxUnflushed: number
  maxWaiting: number
  heartbeatMs: number
  /** How long a heartbeat renews a node's lease. */
  leaseMs: number
  /** A node stops this much before its lease ends, and others wait this much longer: clocks run unevenly. */
  marginMs: number
  /** When a durable hold expires if its reservation does not say. */
  durableMs: number
  /** How long an account is unused on a node before it gives back what is spare. */
  idleMs: number
  /** How long a reservation waits for money that other requests hold or other nodes have spare. */
  heldWaitMs: number
  /** The most reservations that wait for the money of one account, and of all accounts. */
  maxWaitingForAccount: number
  maxWaitingForMoney: number
  /** How long `close` tries to write what is left while the database is away. */
  closeMs: number
}

const nanoPerUsd = 1_000_000_000

/** Fills in the defaults of an engine. */
export function withDefaults (engine: Store['engine'], given: Partial<LedgerOptions>): LedgerOptions {
  return { ...defaults, chunkNano: chunks[engine], ...given }
}

/** A SQLite file usually has one process. */
const chunks = { sqlite: Number.MAX_SAFE_INTEGER, postgres: 0.05 * nanoPerUsd }

const defaults: Omit<LedgerOptions, 'chunkNano'> = {
  flushMs: 20,
  batchSize: 500,
  maxUnflushed: 100_000,
  maxWaiting: 10_000,
  heartbeatMs: 3_000,
  leaseMs: 15_000,
  marginMs: 2_000,
  durableMs: 3_600_000,
  idleMs: 1_000,
  heldWaitMs: 2_000,
  maxWaitingForAccount: 500,
  maxWaitingForMoney: 5_000,
  closeMs: 5_000
}

/** How long the work for a request may go on after its deadline, until it is charged. */
const afterDeadlineMs = 120_000

/** How long any request may hold money, in ms. */
export function longestRequestMs (limits: { deadlineMs: number, streamMs: number }): number {
  return Math.max(limits.deadlineMs, limits.streamMs) + afterDeadlineMs
}
