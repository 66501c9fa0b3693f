import type { Log } from '../../shared/log.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { TermEnded, type NodeMembership } from '../cluster/node-membership.ts'
import { idempotencyConflict } from '../errors.ts'
import type { Ledger } from '../ledger.ts'
import { allowanceOf, type Term } from '../node-allowance.ts'
import { holdState, type DurableRow } from '../sql/durable-holds.ts'
import { isFree, type Batch, type PendingReservation, type Settlement } from '../types.ts'
import type { Commit } from './commit.ts'
import type { Committed } from './transaction.ts'

interface WriterContext {
  commit: Commit
  membership: NodeMembership
  log: Log
  counts: { lost: number }
  reportSuspended: Ledger['reportSuspended']
}

const maxTerms = 3

/**
 * Creates the function that commits batches and reports to each reservation. If the database rejects a batch,
 * its items are committed one by one, so that a wrong one keeps no other from being booked. Throws
 * StoreUnavailable when what is left in the batch is to be tried again, AggregateError when settlements were
 * lost.
 */
export function createWriter ({ commit, membership, log, counts, reportSuspended }: WriterContext) {
  async function inTerm (batch: Batch, withDirty: (term: Term) => Parameters<Commit>[2]): Promise<void> {
    for (let attempts = 1; ; attempts++) {
      const term = membership.term ?? await membership.join()
      try {
        return report(await commit(batch, term, withDirty(term)), term)
      } catch (error) {
        if (!(error instanceof TermEnded)) throw error
        log.error({ term: term.id }, 'another node declared this one dead and released its holds')
        membership.endTerm(term)
        if (attempts === maxTerms) throw new StoreUnavailable(error)
      }
    }
  }

  function report (committed: Committed, term: Term): void {
    const { sentAtMs, renewed, postings, granted, known, refused } = committed
    if (renewed) membership.renewed(term, sentAtMs)
    reportSuspended(postings.suspended)
    for (const { reservation } of granted) {
      const { chain, amountNano, durable } = reservation
      const allowances = durable === null ? chain.map((account) => allowanceOf(term, account)) : null
      reservation.granted(allowances === null ? null : { term, allowances }, amountNano)
    }
    for (const { reservation, rows } of known) reportKnown(reservation, rows)
    for (const { reservation, error } of refused) reservation.refused(error)
  }

  async function writeOne (item: Batch): Promise<Error | null> {
    try {
      await inTerm(item, () => [])
    } catch (error) {
      if (error instanceof StoreUnavailable || !(error instanceof Error)) throw error
      for (const reservation of item.reservations) reservation.refused(error)
      const [settlement] = item.settlements
      if (settlement !== undefined) {
        if (settlement.suspended === 'rejected' || isFree(settlement.hold)) return lose(settlement, error)
        log.error({ err: error, hold: settlement.hold.id }, 'a request cannot be charged to its account')
        settlement.suspended = 'rejected'
        return await writeOne(item)
      }
    }
    return null
  }

  function lose ({ hold, charge }: Settlement, error: Error): Error {
    counts.lost++
    log.error({ err: error, hold: hold.id, chain: hold.chain, posting: charge?.posting }, 'a request could not be booked at all')
    if (hold.grant !== null && hold.grant.term === membership.term) {
      for (const allowance of hold.grant.allowances) allowance.postedNano -= charge?.amountNano ?? 0
    }
    return error
  }

  return async function write (batch: Batch): Promise<void> {
    try {
      return await inTerm(batch, ({ dirty }) => [...dirty])
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      log.warn({ err: error }, 'the database rejected a batch of the ledger; its items are committed one by one')
    }
    const lost: Error[] = []
    const { settlements, reservations } = batch
    for (let [settlement] = settlements; settlement !== undefined; [settlement] = settlements) {
      const failure = await writeOne({ settlements: [settlement], reservations: [] })
      if (failure !== null) lost.push(failure)
      settlements.shift()
    }
    for (let [reservation] = reservations; reservation !== undefined; [reservation] = reservations) {
      await writeOne({ settlements: [], reservations: [reservation] })
      reservations.shift()
    }
    if (lost.length > 0) throw new AggregateError(lost, `${lost.length} settlements could not be booked`)
  }
}

/** A durable hold reserved again, by a process that continues its work, is the same hold. */
function reportKnown (reservation: PendingReservation, rows: readonly DurableRow[]): void {
  const { id, chain } = reservation
  const isSameChain = rows.length === chain.length && rows.every(({ account }) => chain.includes(account))
  const [row] = rows
  if (row === undefined || !isSameChain || row.state !== holdState.open) {
    return reservation.refused(idempotencyConflict(id, 'hold'))
  }
  reservation.granted(null, row.amountNano)
}
