import { createLru, type Lru } from '../../../shared/lru.ts'
import { StoreUnavailable, type Queries } from '../../../store/store.ts'
import { TermEnded } from '../cluster/node-membership.ts'
import { endedKey, FundsHeld } from '../errors.ts'
import { allowanceOf, type NodeAllowance, type Term } from '../node-allowance.ts'
import type { AccountRow, CommitRows, DurableRow, EntryRow, NewHoldRow } from '../sql/rows.ts'
import { holdState } from '../sql/rows.ts'
import { createStatements, type Statements } from '../sql/statements.ts'
import { chainId, isFree } from '../types.ts'
import type { Batch, NodeContext, PendingReservation, Settlement } from '../types.ts'
import { acknowledge, balanceSpare, changeOf, createAccountState, grant, shortageError } from './grant.ts'
import type { AccountState, LockedReservation } from './grant.ts'
import { createLockedAccounts, type WritablePart } from './locked-accounts.ts'
import { createPostings, noChange, possibleKeys, type Postings } from './postings.ts'

export interface Committed {
  /** From before the statement was sent, on the monotonic clock. */
  sentAtMs: number
  renewed: boolean
  /** Entries that were booked to suspense. */
  suspended: readonly EntryRow[]
  granted: LockedReservation[]
  refused: { reservation: PendingReservation, error: Error }[]
  /** Reservations whose id has a durable hold already, open or ended. */
  known: { reservation: PendingReservation, rows: readonly DurableRow[] }[]
  /** Settlements that have to wait for locked accounts, in their order. */
  waiting: Settlement[]
}

export type CommitContext = Pick<NodeContext, 'store' | 'node' | 'options' | 'requestMs' | 'monotonic'>

interface CommitOptions {
  /** Allowances whose rows are written as well. */
  dirty?: readonly NodeAllowance[]
  /** Payers of settlements that wait: their later ones wait too, as those of a term are booked in order. */
  waitingPayers?: ReadonlySet<string>
}

/**
 * Writes a batch, all of it or nothing except for what has to wait for locked accounts. Throws TermEnded,
 * StoreUnavailable, and what the database rejects; then nothing of the batch counts, and it may be written
 * again.
 */
export type Commit = (batch: Batch, term: Term, options?: CommitOptions) => Promise<Committed>

/** An attempt to write a part of a batch, and what it decided. */
interface Attempt extends WritablePart {
  term: Term
  sentAtMs: number
  isContested (account: string): boolean
}

interface Decision extends Pick<Committed, 'granted' | 'refused' | 'known'> {
  postings: Postings
  states: ReadonlyMap<string, AccountState>
  rows: CommitRows
}

const maxKnownChains = 10_000
const maxAttempts = 10
/** How often others may take the money of an account first until it counts as held. */
const maxContests = 3

/**
 * Creates the group commit: it reads the accounts, turns settlements into entries, grants reservations from
 * what is left, and writes each account once. On SQLite that is one transaction. On Postgres nothing is
 * locked in between: one statement writes everything, unless what was decided is no longer possible; then the
 * rows are read again.
 *
 *     leave out locked accounts ──▶ read ──▶ decide ──▶ write ── written ──▶ report
 *                ▲                                      │   │
 *                └──── changed or locked, 10 times ─────┘   └── ended ──▶ TermEnded
 */
export function createCommit (context: CommitContext): Commit {
  const { store, monotonic, options } = context
  const statements = createStatements(store.engine)
  const knownChains = createLru<true>(maxKnownChains)
  const locked = createLockedAccounts({ store, statements, monotonic, batchSize: options.batchSize })
  const parts = { ...context, statements, knownChains }

  async function commitInTransaction (
    batch: Batch, term: Term, dirty: readonly NodeAllowance[]
  ): Promise<Committed> {
    const attempt = { batch, dirty, term, sentAtMs: monotonic(), isContested: () => false, ...nothingWaits }
    const decision = await store.transaction(async queries => {
      const decided = await decide(parts, queries, attempt)
      const { result } = await statements.writeCommit(queries, decided.rows)
      if (result === 'ended') throw new TermEnded(term)
      return decided
    })
    return acknowledged(parts, attempt, decision)
  }

  async function commitInOneStatement (
    batch: Batch, term: Term, { dirty = [], waitingPayers = none }: CommitOptions
  ): Promise<Committed> {
    const changes = new Map<string, number>()
    for (let attempts = 1; ; attempts++) {
      const part = await locked.divide(batch, dirty, waitingPayers)
      const isContested = (account: string) => (changes.get(account) ?? 0) >= maxContests
      const attempt = { ...part, term, sentAtMs: monotonic(), isContested }
      if (part.isEmpty) return { ...nothingCommitted, ...part, sentAtMs: attempt.sentAtMs }
      const decision = await decide(parts, store, attempt)
      const { result, accounts } = await statements.writeCommit(store, decision.rows)
      if (result === 'written') return acknowledged(parts, attempt, decision)
      if (result === 'ended') throw new TermEnded(term)
      if (attempts === maxAttempts) throw new StoreUnavailable(null, { problem: 'locked' })
      // What was taken from memory for a reservation is given back if it is left out now.
      markDirty(batch, dirty, term)
      if (result === 'locked') locked.add(accounts)
      else for (const account of accounts) changes.set(account, (changes.get(account) ?? 0) + 1)
    }
  }

  return async (batch, term, options = {}) => {
    try {
      if (store.engine === 'sqlite') return await commitInTransaction(batch, term, options.dirty ?? [])
      return await commitInOneStatement(batch, term, options)
    } catch (error) {
      // The database may have committed it all the same, so the next commit writes these rows again.
      markDirty(batch, options.dirty ?? [], term)
      throw error
    }
  }
}

const none: ReadonlySet<string> = new Set()
const nothingWaits = { waiting: [], refused: [], isEmpty: false }
const nothingCommitted = { renewed: false, suspended: [], granted: [], known: [] }

/** Has the next commit write what this one would have. */
function markDirty (batch: Batch, dirty: readonly NodeAllowance[], term: Term): void {
  for (const account of accountsOf(batch)) {
    const allowance = term.allowances.get(account)
    if (allowance !== undefined) term.dirty.add(allowance)
  }
  for (const allowance of dirty) term.dirty.add(allowance)
}

interface Parts extends CommitContext { statements: Statements, knownChains: Lru<true> }

/** Makes memory what the database has written, and returns what to report. */
function acknowledged (
  { knownChains }: Parts, attempt: Attempt, { postings, states, rows, ...reserved }: Decision
): Committed {
  const { term, sentAtMs, waiting } = attempt
  for (const chain of postings.chains) {
    const id = chainId(chain)
    if (knownChains.get(id) === undefined) knownChains.set(id, true)
  }
  for (const state of states.values()) acknowledge(state, term, sentAtMs)
  const refused = [...attempt.refused, ...reserved.refused]
  return { ...reserved, refused, sentAtMs, renewed: rows.renews, suspended: postings.suspended, waiting }
}

async function decide (parts: Parts, queries: Queries, attempt: Attempt): Promise<Decision> {
  const { statements, options, store } = parts
  const { batch, dirty, term, sentAtMs, isContested } = attempt
  const accounts = accountsOf(batch)
  for (const { account } of dirty) accounts.add(account)
  const rows = await statements.readAccounts(queries, accounts, term.id)
  const known = await readKnown(parts, queries, attempt, rows)
  const postings = createPostings(batch.settlements, { term, ...known })
  const changes = postings.changes()
  const states = new Map(rows.map((row) => {
    const allowance = allowanceOf(term, row.id)
    const change = changes.get(row.id) ?? noChange
    return [row.id, createAccountState({ row, allowance, change, isContested: isContested(row.id) })]
  }))

  const reserved = batch.reservations.length === 0
    ? nothingReserved
    : await reserve(parts, queries, attempt, states, known.durable)
  for (const state of states.values()) balanceSpare(state, options, sentAtMs)
  // On SQLite no other transaction writes before this one ends, and all holds of a node end with its term.
  const isOpen = ({ allowanceState }: AccountRow) => allowanceState === holdState.open
  const renews = store.engine !== 'sqlite' || !rows.some(isOpen)
  const rowsToWrite = toRows(parts, { term, renews, postings, states, ...reserved })
  // What changes from here on is written by the next commit.
  for (const { allowance } of states.values()) term.dirty.delete(allowance)
  return { postings, states, ...reserved, rows: rowsToWrite }
}

type Known = Omit<Parameters<typeof createPostings>[1], 'term'>

const noDurable: ReadonlyMap<string, readonly DurableRow[]> = new Map()

/** Reads what is booked of a batch already. */
async function readKnown (
  { statements }: Parts, queries: Queries, { batch, term }: Attempt, rows: readonly AccountRow[]
): Promise<Known> {
  const { settlements } = batch
  const booked = new Map<Term, ReadonlyMap<string, number>>()
  booked.set(term, new Map(rows.map(({ id, bookedSequence }) => [id, bookedSequence])))
  for (const { sequence, hold: { grant } } of settlements) {
    if (sequence === 0 || grant === null || booked.has(grant.term)) continue
    booked.set(grant.term, await statements.bookedSequences(queries, grant.term.id))
  }
  const ids = durableIds(batch)
  const durable = ids.length === 0
    ? noDurable
    : Map.groupBy(await statements.readDurable(queries, ids), ({ id }) => id)
  const keys = possibleKeys(settlements, term)
  const bookedKeys = keys.length === 0 ? none : await statements.readBooked(queries, keys)
  return { booked, durable, bookedKeys }
}

type Reserved = Pick<Committed, 'granted' | 'refused' | 'known'>

const nothingReserved: Reserved = { granted: [], refused: [], known: [] }

async function reserve (
  { statements, options }: Parts, queries: Queries, { batch: { reservations }, term }: Attempt,
  states: ReadonlyMap<string, AccountState>, durable: ReadonlyMap<string, readonly DurableRow[]>
): Promise<Reserved> {
  const known: Committed['known'] = []
  const fresh: PendingReservation[] = []
  for (const reservation of reservations) {
    const rows = durable.get(reservation.id)
    if (rows === undefined) fresh.push(reservation)
    else known.push({ reservation, rows })
  }
  const ended = await refuseEndedKeys(statements, queries, fresh)
  const isEnded = new Set(ended.map(({ reservation }) => reservation))
  const { granted, short, refused } = grant(fresh.filter(reservation => !isEnded.has(reservation)), states)
  const tooShort = short.map((locked) => ({ reservation: locked.reservation, error: shortageError(locked) }))
  // Other nodes may have spare what is only held.
  const held = tooShort.flatMap(({ error }) => error instanceof FundsHeld ? [error.account] : [])
  if (held.length > 0) await statements.requestSpare(queries, term.id, options.leaseMs, held)
  return { granted, refused: [...refused, ...tooShort, ...ended], known }
}

/** A durable hold needs a key that is valid in the database. */
async function refuseEndedKeys (
  statements: Statements, queries: Queries, reservations: readonly PendingReservation[]
): Promise<Committed['refused']> {
  const durable = reservations.filter(({ durable }) => durable !== null)
  if (durable.length === 0) return []
  const read = await statements.readKeys(queries, new Set(durable.map(({ key }) => key)))
  const keys = new Map(read.map(key => [key.id, key]))
  return durable.flatMap(reservation => {
    const key = keys.get(reservation.key)
    if (key !== undefined && key.isValid !== 0) return []
    const why = key === undefined ? 'unknown' : key.revokedAt === null ? 'expired' : 'revoked'
    return [{ reservation, error: endedKey(reservation.key, why) }]
  })
}

function accountsOf ({ settlements, reservations }: Batch): Set<string> {
  const accounts = new Set<string>()
  let last: readonly string[] = []
  const add = (chain: readonly string[]) => {
    if (chain !== last) for (const account of chain) accounts.add(account)
    last = chain
  }
  for (const { hold } of settlements) if (!isFree(hold)) add(hold.chain)
  for (const { chain } of reservations) add(chain)
  return accounts
}

function durableIds ({ settlements, reservations }: Batch): string[] {
  const ids: string[] = []
  for (const { hold } of settlements) if (hold.grant === null && !isFree(hold)) ids.push(hold.id)
  for (const { id, durable } of reservations) if (durable !== null) ids.push(id)
  return ids
}

interface Decided extends Pick<Decision, 'postings' | 'states' | 'granted'> { term: Term, renews: boolean }

function toRows (
  { node, requestMs, knownChains }: Parts, { term, renews, postings, states, granted }: Decided
): CommitRows {
  const chains = [...postings.chains].filter(chain => !knownChains.has(chainId(chain)))
  return {
    node,
    term: term.id,
    epoch: term.epoch,
    requestMs: requestMs(),
    renews,
    accounts: [...states.values()].flatMap(state => changeOf(state) ?? []),
    chains: chains.flatMap(chain => chain.map(account => ({ id: chainId(chain), account }))),
    entries: postings.entries,
    ended: postings.ended(),
    holds: granted.flatMap(({ reservation }) => holdRows(reservation))
  }
}

function holdRows ({ id, chain, key, amountNano: amount, durable }: PendingReservation): NewHoldRow[] {
  if (durable === null) return []
  return chain.map(account => ({ id, account, amount, api_key: key, expires_at: durable.expiresAt }))
}
