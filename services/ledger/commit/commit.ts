import { LRUCache } from 'lru-cache'
import { TermEnded } from '../cluster/node-membership.ts'
import { allowanceOf, forgetIfEmpty, type NodeAllowance, type Term } from '../node-allowance.ts'
import type { AccountRow } from '../sql/accounts.ts'
import { holdState, type DurableRow } from '../sql/durable-holds.ts'
import { chainId, type Inserted } from '../sql/entries.ts'
import { createStatements } from '../sql/statements.ts'
import { isFree, type Batch } from '../types.ts'
import { insertDurable } from './durable-holds.ts'
import { applyTo, availableNano, balanceNano, balanceSpare, createAccountState, grant, heldNano, spareNano } from './grant.ts'
import type { AccountState } from './grant.ts'
import { createPostings, noChange, type Postings } from './postings.ts'
import { requestPeerSpare } from './request-peer-spare.ts'
import type { CommitContext, Committed, Transaction } from './transaction.ts'

const maxKnownChains = 10_000

/**
 * Writes a batch in one transaction, with the rows of `dirty` allowances. Throws TermEnded, StoreUnavailable,
 * and what the database rejects; then nothing of the batch counts, and it may be written again.
 */
export type Commit = (batch: Batch, term: Term, dirty?: readonly NodeAllowance[]) => Promise<Committed>

/**
 * Creates the group commit: one transaction proves that the node's term goes on, locks the accounts, turns
 * settlements into entries, grants reservations from what is left, and writes each account once.
 */
export function createCommit (context: CommitContext): Commit {
  const { store, monotonic } = context
  const statements = createStatements(store.engine)
  const knownChains = new LRUCache<string, true>({ max: maxKnownChains })
  return async (batch, term, dirty = []) => {
    try {
      const { states, ...committed } = await store.transaction((queries) =>
        write({ ...context, statements, knownChains, queries, batch, dirty, term, sentAtMs: monotonic() }))
      for (const chain of committed.postings.chains) knownChains.set(chainId(chain), true)
      for (const state of states.values()) acknowledge(state, term, committed.sentAtMs)
      return committed
    } catch (error) {
      // The database may have committed it all the same, so the next commit writes these rows again.
      for (const account of accountsOf(batch)) {
        const allowance = term.allowances.get(account)
        if (allowance !== undefined) term.dirty.add(allowance)
      }
      throw error
    }
  }
}

async function write (transaction: Transaction): Promise<Committed & { states: Map<string, AccountState> }> {
  const { statements, queries, batch, dirty, term, options, sentAtMs } = transaction
  const accounts = accountsOf(batch)
  for (const { account } of dirty) accounts.add(account)
  const { rows, renewed } = await lock(transaction, accounts)
  const booked = await bookedSequences(transaction, rows)
  const ids = durableIds(batch)
  const durable = ids.length === 0
    ? noDurable
    : Map.groupBy(await statements.readDurable(queries, ids), ({ id }) => id)
  const postings = createPostings(batch.settlements, { term, booked, durable })
  const inserted = await insertPostings(transaction, postings)
  const changes = postings.changes(inserted)
  const states = new Map(rows.map((row) =>
    [row.id, createAccountState(row, allowanceOf(term, row.id), changes.get(row.id) ?? noChange)]))

  const reserved = batch.reservations.length === 0
    ? nothingReserved
    : await reserve(transaction, states, durable)
  for (const state of states.values()) balanceSpare(state, options, sentAtMs)
  if (ids.length > 0) await statements.endDurable(queries, postings.ended(inserted))
  await writeAccounts(transaction, states)
  return { sentAtMs, renewed, states, postings, ...reserved }
}

const noDurable: ReadonlyMap<string, readonly DurableRow[]> = new Map()

/** Also proves that the term goes on, with a heartbeat where one is needed. Throws TermEnded. */
async function lock (
  { store, statements, queries, term, node, requestMs }: Transaction, accounts: ReadonlySet<string>
): Promise<{ rows: AccountRow[], renewed: boolean }> {
  if (store.engine === 'sqlite') {
    // No other transaction writes before this one ends, and all holds of a node end with its term.
    const rows = await statements.lockAccounts(queries, accounts, term.id)
    if (rows.some(({ allowanceState }) => allowanceState === holdState.open)) return { rows, renewed: false }
  }
  if (!await statements.heartbeat(queries, node, term.epoch, requestMs())) throw new TermEnded(term)
  return { rows: await statements.lockAccounts(queries, accounts, term.id), renewed: true }
}

/** The last booked sequence numbers by account, for each term of a batch. */
async function bookedSequences (
  { statements, queries, batch, term }: Transaction, rows: readonly AccountRow[]
): Promise<Map<Term, ReadonlyMap<string, number>>> {
  const booked = new Map<Term, ReadonlyMap<string, number>>()
  booked.set(term, new Map(rows.map(({ id, bookedSequence }) => [id, bookedSequence])))
  for (const { sequence, hold: { grant } } of batch.settlements) {
    if (sequence === 0 || grant === null || booked.has(grant.term)) continue
    booked.set(grant.term, await statements.bookedSequences(queries, grant.term.id))
  }
  return booked
}

type Reserved = Pick<Committed, 'granted' | 'refused' | 'known'>

const nothingReserved: Reserved = { granted: [], refused: [], known: [] }

async function reserve (
  transaction: Transaction, states: ReadonlyMap<string, AccountState>,
  durable: ReadonlyMap<string, readonly DurableRow[]>
): Promise<Reserved> {
  const { reservations } = transaction.batch
  const { granted, short, refused } = grant(reservations.filter(({ id }) => !durable.has(id)), states)
  const rejected = await insertDurable(transaction, granted)
  const isRejected = new Set(rejected.map(({ reservation }) => reservation))
  const tooShort = await requestPeerSpare(transaction, short)
  return {
    granted: granted.filter(({ reservation }) => !isRejected.has(reservation)),
    refused: [...refused, ...tooShort, ...rejected],
    known: reservations.flatMap((reservation) => {
      const rows = durable.get(reservation.id)
      return rows === undefined ? [] : [{ reservation, rows }]
    })
  }
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

async function insertPostings (
  { statements, queries, knownChains }: Transaction, { chains, entries }: Postings
): Promise<Inserted> {
  await statements.insertChains(queries, [...chains].filter(chain => !knownChains.has(chainId(chain))))
  return await statements.insertEntries(queries, entries)
}

async function writeAccounts (
  { statements, queries, term, node }: Transaction, states: ReadonlyMap<string, AccountState>
): Promise<void> {
  const all = [...states.values()]
  const used = all.filter(({ row, change, allowedNano }) =>
    row.allowanceNano > 0 || allowedNano > 0 || change.sequence > row.bookedSequence)
  const allowances = used.map((state) => ({
    account: state.row.id,
    amount: state.allowedNano,
    spare: Math.max(0, spareNano(state)),
    booked_sequence: Math.max(state.row.bookedSequence, state.change.sequence)
  }))
  const changes = all.map((state) => ({
    id: state.row.id,
    spent: state.change.spentNano,
    held: heldNano(state) - state.row.heldNano
  })).filter(({ spent, held }) => spent !== 0 || held !== 0)
  await statements.writeAllowances(queries, term.id, node, allowances)
  await statements.changeAccounts(queries, changes)
}

function acknowledge (state: AccountState, term: Term, atMs: number): void {
  const { allowance } = state
  applyTo(state)
  allowance.available = { nano: availableNano(state), unspentNano: balanceNano(state), atMs }
  if (state.grantedNano > 0) Object.assign(allowance, { usedAtMs: atMs, idle: false })
  term.dirty.delete(allowance)
  forgetIfEmpty(term, allowance)
}
