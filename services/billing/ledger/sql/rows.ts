import type { Queries, Value } from '../../../store/store.ts'

/** The values of `hold.state`; a hold is `revoked` when its owner has died or its time is over. */
export const holdState = { open: 0, settled: 1, released: 2, revoked: 3 } as const

/** An account as a commit finds it, with this node's allowance. Integer nano-USD. */
export interface AccountRow {
  id: string
  creditsNano: number
  spentNano: number
  heldNano: number
  allowanceNano: number
  /** A `holdState`; null without a row. */
  allowanceState: number | null
  spareRequested: number
  /** The sequence number of the node's last booked settlement. */
  bookedSequence: number
}

/** How a commit changes an account and this node's allowance. Integer nano-USD. */
export interface AccountWrite extends Record<string, Value> {
  id: string
  /** To add. */
  spent: number
  held: number
  /** The allowance as it was read. */
  known_amount: number
  known_sequence: number
  seen_request: number
  /** The allowance as it becomes; a null amount leaves its row alone. */
  amount: number | null
  spare: number
  booked_sequence: number
}

/** By how much an account changes. Integer nano-USD. */
export type BalanceRow = Pick<AccountWrite, 'id' | 'spent' | 'held'>

export interface DurableRow { id: string, account: string, amountNano: number, state: number }

export interface NewHoldRow extends Record<string, Value> {
  id: string
  account: string
  amount: number
  api_key: string
  expires_at: number
}

export interface EndedRow extends Record<string, Value> {
  id: string
  state: number
  /** What was charged, in nano-USD. */
  settled: number | null
  /** How many rows of the hold are open. */
  open: number
}

/** A new entry; `at` in milliseconds since 1970, `amount` in integer nano-USD, `usage` as JSON. */
export interface EntryRow extends Record<string, Value> {
  /** Null for usage whose settlement has a sequence number. */
  idempotency_key: string | null
  at: number
  debit: string
  credit: string
  amount: number
  kind: 'usage' | 'suspense'
  ref: string
  model: string
  provider: string | null
  usage: string
  estimated: number
  hold: string | null
  api_key: string
  chain: string
  /** A `SuspenseReason`; null for usage. */
  reason: string | null
}

export interface ChainRow extends Record<string, Value> { id: string, account: string }

/** Everything that a commit writes. */
export interface CommitRows {
  node: string
  term: string
  epoch: number
  requestMs: number
  /** Whether the node's lease is to be renewed. */
  renews: boolean
  accounts: readonly AccountWrite[]
  chains: readonly ChainRow[]
  entries: readonly EntryRow[]
  ended: readonly EndedRow[]
  holds: readonly NewHoldRow[]
}

/**
 * What became of a commit. It was written; or nothing was, because the node's term has `ended`, rows have
 * `changed` since they were read, or other transactions keep them `locked`. The accounts are those with less
 * money than was read, or the locked ones.
 */
export interface WriteOutcome {
  result: 'written' | 'ended' | 'changed' | 'locked'
  accounts: readonly string[]
}

/** The statements that differ between the engines. */
export interface EngineStatements {
  /** Without locks: `writeCommit` notices what has changed since. */
  readAccounts (queries: Queries, accounts: Iterable<string>, term: string): Promise<AccountRow[]>
  /** In the order of their ids, to avoid deadlocks, until the caller's transaction ends. */
  lockAccounts (queries: Queries, accounts: Iterable<string>): Promise<void>
  /** Returns those that no other transaction keeps locked. */
  unlockedOf (queries: Queries, accounts: readonly string[]): Promise<string[]>
  changeAccounts (queries: Queries, rows: readonly BalanceRow[]): Promise<void>
  insertEntries (queries: Queries, rows: readonly EntryRow[]): Promise<void>
  /** Requests what other nodes have spare; they give it back at their next commit. */
  requestSpare (queries: Queries, term: string, leaseMs: number, short: readonly string[]): Promise<void>
  writeCommit (queries: Queries, rows: CommitRows): Promise<WriteOutcome>
}

export const accountRowColumns = `
  account.id, credits as "creditsNano", spent as "spentNano", held as "heldNano",
  coalesce(hold.amount, 0) as "allowanceNano", hold.state as "allowanceState",
  coalesce(hold.spare_requested, 0) as "spareRequested", coalesce(hold.booked_sequence, 0) as "bookedSequence"`

export const entryColumns = {
  idempotency_key: 'text',
  at: 'bigint',
  debit: 'text',
  credit: 'text',
  amount: 'bigint',
  kind: 'text',
  ref: 'text',
  model: 'text',
  provider: 'text',
  usage: 'text',
  estimated: 'bigint',
  hold: 'text',
  api_key: 'text',
  chain: 'text',
  reason: 'text'
} as const

/**
 * Finds the allowances that `requestSpare` changes: `$1` are the accounts, `$2` is the term of this node,
 * `$3` how long a live node may be silent. One without spare money may have some later.
 */
export const peersWithAllowance = `
  kind = 'node' and state = 0 and amount > 0 and spare_requested = 0 and id <> $2
  and exists (select 1 from node where node.id = hold.owner and node.heartbeat_at > now_ms() - cast($3 as bigint))`
