import { LRUCache } from 'lru-cache'
import { chainId } from '../sql/book-statements.ts'
import type { Inserted } from '../sql/book-statements.ts'
import { balanceSpare, decide } from './grant.ts'
import { TermOver } from '../cluster/node-membership.ts'
import type { Batch } from '../types.ts'
import { createPostings, holdState } from '../sql/postings.ts'
import type { Postings, Sums } from '../sql/postings.ts'
import { insertDurable, readDurable } from './durable.ts'
import { recall } from './request-peer-spare.ts'
import { forgetIfEmpty, shareOf } from '../node-allowance.ts'
import type { Share, Term } from '../node-allowance.ts'
import { applyTo, availableNano, createStanding, heldNano, spareNano } from './account-state.ts'
import type { Standing } from './account-state.ts'
import type { AccountRow } from '../sql/account-state-statements.ts'
import { createStatements } from '../sql/statements.ts'
import type { DurableRow } from '../sql/statements.ts'
import type { Committed, CommitContext, Transaction } from './transaction.ts'
const maxKnownChains = 10_000
/**
 * Writes a batch in one transaction. Throws TermOver, StoreUnavailable, and what the database refuses; then
 * nothing of the batch counts, and it may be written again. `dirty` are shares whose rows are to be written
 * too.
 */
export type Commit = (batch: Batch, term: Term, dirty?: readonly Share[]) => Promise<Committed>

/**
 * Creates the group commit. In one transaction the node shows that it still owns its holds, all accounts
 * concerned are locked, settlements become entries, reservations are decided one after the other on what is
 * left, and each account is written once.
 *
 * What keeps an account from being overdrawn: `held` grows only by what was found available under the lock.
 * What makes a commit safe to repeat when its answer got lost: the node's rows are written as a whole, never
 * as a difference; the settlements of fresh holds are numbered, and these rows note how far they are booked;
 * those of other holds count only where the id of their entry was new.
 */
export function createCommit (context: CommitContext): Commit {
  const { store, monotonic } = context
  const statements = createStatements(store.engine)
  const knownChains = new LRUCache<string, true>({ max: maxKnownChains })
  return async (batch, term, dirty = []) => {
    try {
      const { standings, ...committed } = await store.transaction((queries) =>
        write({ ...context, statements, knownChains, queries, batch, dirty, term, sentAtMs: monotonic() }))
      for (const chain of committed.postings.chains) knownChains.set(chainId(chain), true)
      for (const standing of standings.values()) remember(standing, term, committed.sentAtMs)
      return committed
    } catch (error) {
      // Whether the database has taken it may be unknown: the next commit writes these rows anew.
      for (const share of sharesOf(batch, term)) term.dirty.add(share)
      throw error
    }
  }
}

async function write (transaction: Transaction): Promise<Committed & { standings: Map<string, Standing> }> {
  const { statements, queries, batch, dirty, term, options, sentAtMs } = transaction
  const nowMs = transaction.clock()
  const accounts = accountsOf(batch)
  for (const { account } of dirty) accounts.add(account)
  const { rows, renewed } = await enter(transaction, accounts, nowMs)
  const booked = await bookedBefore(transaction, rows)
  const durable = await readDurable(transaction)
  const postings = createPostings(batch.settlements, { term, booked, durable })
  const inserted = await insertPostings(transaction, postings)
  const sums = postings.sums(inserted)
  const standings = new Map(rows.map((row) =>
    [row.id, createStanding(row, shareOf(term, row.id), sums.get(row.id) ?? noChange)]))

  const taken = batch.takes.length === 0 ? nothing : await take(transaction, standings, durable, nowMs)
  for (const standing of standings.values()) balanceSpare(standing, options, sentAtMs)
  await statements.resolveDurable(queries, nowMs, postings.resolved(inserted))
  await writeStandings(transaction, standings, nowMs)
  return { sentAtMs, renewed, standings, postings, ...taken }
}

/**
 * Reads the accounts of a batch and locks them, and shows that the term goes on, with a sign of life where
 * one is written. Throws TermOver.
 */
async function enter (
  { store, statements, queries, term, node }: Transaction, accounts: ReadonlySet<string>, nowMs: number
): Promise<{ rows: AccountRow[], renewed: boolean }> {
  if (store.engine === 'sqlite') {
    // Nobody else writes before this transaction ends, and with its term all holds of a node have ended.
    const rows = await statements.lockAccounts(queries, accounts, term.id)
    if (rows.some(({ rowState }) => rowState === holdState.open)) return { rows, renewed: false }
  }
  if (!await statements.fence(queries, node, term.epoch, nowMs)) throw new TermOver(term)
  return { rows: await statements.lockAccounts(queries, accounts, term.id), renewed: true }
}

/** What of the settlements of a batch is in the books already, where they are numbered. */
async function bookedBefore (
  { statements, queries, batch, term }: Transaction, rows: readonly AccountRow[]
): Promise<Map<Term, ReadonlyMap<string, number>>> {
  const booked = new Map<Term, ReadonlyMap<string, number>>()
  booked.set(term, new Map(rows.map(({ id, booked }) => [id, booked])))
  for (const { number, hold: { granted } } of batch.settlements) {
    if (number === 0 || granted === null || booked.has(granted.term)) continue
    booked.set(granted.term, await statements.bookedUnder(queries, granted.term.id))
  }
  return booked
}

/** What has come of the reservations of a batch. */
type Taken = Pick<Committed, 'granted' | 'refused' | 'deferred' | 'known'>

const nothing: Taken = { granted: [], refused: [], deferred: [], known: [] }

async function take (
  transaction: Transaction, standings: ReadonlyMap<string, Standing>,
  durable: ReadonlyMap<string, readonly DurableRow[]>, nowMs: number
): Promise<Taken> {
  const { takes } = transaction.batch
  const { granted, short, refused } = decide(takes.filter(({ id }) => !durable.has(id)), standings)
  const ended = await insertDurable(transaction, granted, nowMs)
  const { deferred, refused: poor } = await recall(transaction, short, nowMs)
  return {
    granted: granted.filter(({ take }) => !ended.has(take)),
    refused: [...refused, ...Array.from(ended, ([take, error]) => ({ take, error })), ...poor],
    deferred,
    known: takes.flatMap((take) => {
      const rows = durable.get(take.id)
      return rows === undefined ? [] : [{ take, rows }]
    })
  }
}

const noChange: Sums = { postedNano: 0, suspendedNano: 0, spentNano: 0, releasedNano: 0, number: 0 }

function accountsOf ({ settlements, takes }: Batch): Set<string> {
  const accounts = new Set<string>()
  let last: readonly string[] = []
  const add = (chain: readonly string[]) => {
    // Requests of one key come with one chain.
    if (chain !== last) for (const account of chain) accounts.add(account)
    last = chain
  }
  for (const { hold } of settlements) add(hold.chain)
  for (const { chain } of takes) add(chain)
  return accounts
}

async function insertPostings (
  { statements, queries, knownChains }: Transaction, { chains, entries }: Postings
): Promise<Inserted> {
  await statements.insertChains(queries, [...chains].filter(chain => !knownChains.has(chainId(chain))))
  return await statements.insertEntries(queries, entries)
}

async function writeStandings (
  { statements, queries, term, node }: Transaction, standings: ReadonlyMap<string, Standing>, nowMs: number
): Promise<void> {
  const all = [...standings.values()]
  const used = all.filter(({ row, sums, coveredNano }) =>
    row.rowNano > 0 || coveredNano > 0 || sums.number > row.booked)
  const nodeHolds = used.map((standing) => ({
    account: standing.row.id,
    amount: standing.coveredNano,
    spare: Math.max(0, spareNano(standing)),
    booked: Math.max(standing.row.booked, standing.sums.number)
  }))
  const changes = all.map((standing) => ({
    id: standing.row.id,
    spent: standing.sums.spentNano,
    held: heldNano(standing) - standing.row.heldNano
  })).filter(({ spent, held }) => spent !== 0 || held !== 0)
  await statements.writeNodeHolds(queries, term.id, node, nowMs, nodeHolds)
  await statements.changeAccounts(queries, changes)
}

function sharesOf (batch: Batch, term: Term): Share[] {
  return [...accountsOf(batch)].flatMap((account) => term.shares.get(account) ?? [])
}

function remember (standing: Standing, term: Term, atMs: number): void {
  const { share } = standing
  applyTo(standing)
  share.available = { nano: availableNano(standing), atMs }
  if (standing.claimedNano > 0) Object.assign(share, { usedAtMs: atMs, idle: false })
  term.dirty.delete(share)
  forgetIfEmpty(term, share)
}
