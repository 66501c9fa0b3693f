import { StoreUnavailable } from '../../store/store.ts'
import type { Commit } from './commit.ts'
import { TermOver } from '../cluster/node-membership.ts'
import type { Lease } from '../cluster/node-membership.ts'
import type { LedgerLog } from '../../shared/log.ts'
import type { Batch, Settlement, Take } from '../types.ts'
import { holdState } from '../sql/postings.ts'
import { idempotencyConflict } from '../refusals.ts'
import { shareOf } from '../node-allowance.ts'
import type { Term } from '../node-allowance.ts'
import type { DurableRow } from '../sql/statements.ts'
import type { Committed } from './transaction.ts'

interface WriterContext {
  commit: Commit
  lease: Lease
  log: LedgerLog
  /** Counts entries that went to suspense, and settlements that the database took nowhere. */
  counts: { suspended: number, lost: number }
}

const maxTerms = 3

/**
 * Creates what writes batches and tells everybody in them what came of it. A batch that the database refuses
 * is written again piece by piece, so that one wrong piece keeps no other from the books; what is done is
 * taken out of the batch. Throws StoreUnavailable when the rest is to be tried again, AggregateError when
 * settlements were lost.
 */
export function createWriter ({ commit, lease, log, counts }: WriterContext) {
  async function inTerm (batch: Batch, withDirty: (term: Term) => Parameters<Commit>[2]): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      const term = lease.term ?? await lease.ensure()
      try {
        return answer(await commit(batch, term, withDirty(term)), term)
      } catch (error) {
        if (!(error instanceof TermOver)) throw error
        log.error({ term: term.id }, 'another node took this one for dead and gave its holds back')
        lease.lost(term)
        if (attempts === maxTerms) throw new StoreUnavailable(error)
      }
    }
  }

  function answer (committed: Committed, term: Term): void {
    const { sentAtMs, renewed, postings, granted, known, refused, deferred } = committed
    if (renewed) lease.renewed(term, sentAtMs)
    for (const entry of postings.suspended) {
      counts.suspended++
      log.error(entry, 'a request was settled too late to be charged and is booked to suspense')
    }
    for (const { take } of granted) {
      const { id, chain, key, amountNano, durable } = take
      const shares = durable === null ? chain.map((account) => shareOf(term, account)) : null
      const granted = shares === null ? null : { term, shares }
      take.granted({ id, chain, key, amountNano, granted, fresh: false })
    }
    for (const { take, rows } of known) answerKnown(take, rows)
    for (const { take, error } of refused) take.refused(error)
    for (const take of deferred) take.deferred()
  }

  async function writePiece (piece: Batch): Promise<Error | null> {
    try {
      await inTerm(piece, () => [])
    } catch (error) {
      if (error instanceof StoreUnavailable || !(error instanceof Error)) throw error
      for (const take of piece.takes) take.refused(error)
      const [settlement] = piece.settlements
      if (settlement?.suspended === true) return lose(settlement, error)
      if (settlement !== undefined) {
        log.error({ err: error, hold: settlement.hold.id }, 'a request cannot be booked to its account')
        settlement.suspended = true
        return await writePiece(piece)
      }
    }
    return null
  }

  function lose ({ hold, posting }: Settlement, error: Error): Error {
    counts.lost++
    log.error({ err: error, hold: hold.id, chain: hold.chain, posting }, 'a request could not be booked at all')
    if (hold.granted !== null && hold.granted.term === lease.term) {
      for (const share of hold.granted.shares) share.postedNano -= posting?.amountNano ?? 0
    }
    return error
  }

  return async function write (batch: Batch): Promise<void> {
    try {
      return await inTerm(batch, ({ dirty }) => [...dirty])
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      log.warn({ err: error }, 'a batch of the ledger was refused and is written piece by piece')
    }
    const lost: Error[] = []
    const { settlements, takes } = batch
    for (let [settlement] = settlements; settlement !== undefined; [settlement] = settlements) {
      const failure = await writePiece({ settlements: [settlement], takes: [] })
      if (failure !== null) lost.push(failure)
      settlements.shift()
    }
    for (let [take] = takes; take !== undefined; [take] = takes) {
      await writePiece({ settlements: [], takes: [take] })
      takes.shift()
    }
    if (lost.length > 0) throw new AggregateError(lost, `${lost.length} settlements could not be booked`)
  }
}

/** A durable hold that is taken again, by whoever went on with its work, is the hold it was. */
function answerKnown (take: Take, rows: readonly DurableRow[]): void {
  const { length } = take.chain
  const isSameChain = rows.length === length && rows.every(({ account }) => take.chain.includes(account))
  const [row] = rows
  if (row === undefined || !isSameChain || row.state !== holdState.open) {
    return take.refused(idempotencyConflict(take.id, 'hold'))
  }
  const { id, chain, key } = take
  take.granted({ id, chain, key, amountNano: row.amountNano, granted: null, fresh: false })
}
