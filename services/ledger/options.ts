import type { Store } from '../store/store.ts'

/** Every limit and time of a ledger. Amounts are integer nano-USD. */
export interface LedgerOptions {
  /**
   * How much a node keeps beyond what its requests hold, so that the next one need not wait for the database;
   * never more than an eighth of what the account has left.
   */
  chunkNano: number
  /** A reservation above this amount has a hold of its own in the database. */
  durableOverNano: number
  /** How long what nobody waits for is collected before it is written. */
  flushMs: number
  /** How many settlements and reservations one transaction carries at most. */
  batchSize: number
  /** How many settlements may wait for a database that is away; beyond, nothing new is granted. */
  maxUnflushed: number
  /** How many reservations may wait for the database at once. */
  maxWaiting: number
  /** Between two signs of life of a node. */
  beatMs: number
  /** How long after a sign of life a node counts as alive. */
  leaseMs: number
  /**
   * What a node stops earlier, and the others wait longer, than `leaseMs`, against clocks that run unevenly.
   */
  marginMs: number
  /** How long a request under a node's hold may run; the money of a dead node is kept for as long. */
  maxRequestMs: number
  /** Until a durable hold expires whose reservation names no time. */
  durableMs: number
  /** How long an account is not used on a node before it gives back what is spare. */
  idleMs: number
  /**
   * How long a reservation that is short of money waits for other nodes to give back what they have spare.
   */
  recallMs: number
  /** How long `close` tries to write what is left while the database is away. */
  closeMs: number
}

const nanoPerUsd = 1_000_000_000

/** Returns the options that are not given; `chunkNano` depends on the engine. */
export function withDefaults (engine: Store['engine'], given: Partial<LedgerOptions>): LedgerOptions {
  return { ...defaults, chunkNano: chunks[engine], ...given }
}

/**
 * One process on one SQLite file is the rule, so what it keeps is missed by nobody: only the eighth of the
 * account bounds it.
 */
const chunks = { sqlite: Number.MAX_SAFE_INTEGER, postgres: 0.05 * nanoPerUsd }

const defaults: Omit<LedgerOptions, 'chunkNano'> = {
  durableOverNano: 0.05 * nanoPerUsd,
  flushMs: 20,
  batchSize: 500,
  maxUnflushed: 100_000,
  maxWaiting: 10_000,
  beatMs: 3_000,
  leaseMs: 15_000,
  marginMs: 2_000,
  maxRequestMs: 600_000,
  durableMs: 3_600_000,
  idleMs: 1_000,
  recallMs: 1_500,
  closeMs: 5_000
}
