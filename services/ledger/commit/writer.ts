import type { Log } from '../../shared/log.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { TermEnded, type NodeMembership } from '../cluster/node-membership.ts'
import { idempotencyConflict } from '../errors.ts'
import type { Ledger } from '../ledger.ts'
import { allowanceOf, type Term } from '../node-allowance.ts'
import { holdState, type DurableRow } from '../sql/rows.ts'
import { isFree, type Batch, type PendingReservation, type Settlement } from '../types.ts'
import type { Commit, Committed } from './commit.ts'

interface WriterContext {
  commit: Commit
  membership: NodeMembership
  log: Log
  counts: { lost: number }
  reportSuspended: Ledger['reportSuspended']
}

const maxTerms = 3

/** What became of a batch that was written. */
export interface Written {
  /** Settlements that wait for locked accounts, in their order. */
  waiting: Settlement[]
  /** One for each settlement that never can be booked. */
  lost: Error[]
}

export type Write = ReturnType<typeof createWriter>

/**
 * Creates the function that commits batches and reports to each reservation. If the database rejects a batch,
 * its items are committed one by one, so that a wrong one keeps no other from being booked.
 */
export function createWriter ({ commit, membership, log, counts, reportSuspended }: WriterContext) {
  async function inTerm (
    batch: Batch, optionsIn: (term: Term) => Parameters<Commit>[2]
  ): Promise<Settlement[]> {
    for (let attempts = 1; ; attempts++) {
      const term = membership.term ?? await membership.join()
      try {
        return report(await commit(batch, term, optionsIn(term)), term)
      } catch (error) {
        if (!(error instanceof TermEnded)) throw error
        log.error({ term: term.id }, 'another node declared this one dead and released its holds')
        membership.endTerm(term)
        if (attempts === maxTerms) throw new StoreUnavailable(error)
      }
    }
  }

  function report (committed: Committed, term: Term): Settlement[] {
    const { sentAtMs, renewed, suspended, granted, known, refused, waiting } = committed
    if (renewed) membership.renewed(term, sentAtMs)
    reportSuspended(suspended)
    for (const { reservation } of granted) {
      const { chain, amountNano, durable } = reservation
      const allowances = durable === null ? chain.map((account) => allowanceOf(term, account)) : null
      reservation.granted(allowances === null ? null : { term, allowances }, amountNano)
    }
    for (const { reservation, rows } of known) reportKnown(reservation, rows)
    for (const { reservation, error } of refused) reservation.refused(error)
    return waiting
  }

  async function writeOne (item: Batch, waitingPayers?: ReadonlySet<string>): Promise<Written> {
    try {
      return { waiting: await inTerm(item, () => ({ waitingPayers })), lost: [] }
    } catch (error) {
      if (error instanceof StoreUnavailable || !(error instanceof Error)) throw error
      for (const reservation of item.reservations) reservation.refused(error)
      const [settlement] = item.settlements
      if (settlement !== undefined) {
        if (settlement.suspended === 'rejected' || isFree(settlement.hold)) {
          return { waiting: [], lost: [lose(settlement, error)] }
        }
        log.error({ err: error, hold: settlement.hold.id }, 'a request cannot be charged to its account')
        settlement.suspended = 'rejected'
        return await writeOne(item, waitingPayers)
      }
      return { waiting: [], lost: [] }
    }
  }

  function lose ({ hold, charge }: Settlement, error: Error): Error {
    counts.lost++
    log.error({ err: error, hold: hold.id, chain: hold.chain, posting: charge?.posting }, 'a request could not be booked at all')
    if (hold.grant !== null && hold.grant.term === membership.term) {
      for (const allowance of hold.grant.allowances) allowance.postedNano -= charge?.amountNano ?? 0
    }
    return error
  }

  async function writeOneByOne (
    { settlements, reservations }: Batch, waitingPayers: ReadonlySet<string>
  ): Promise<Written> {
    const written: Written = { waiting: [], lost: [] }
    const payers = new Set(waitingPayers)
    try {
      for (let [settlement] = settlements; settlement !== undefined; [settlement] = settlements) {
        const { waiting, lost } = await writeOne({ settlements: [settlement], reservations: [] }, payers)
        settlements.shift()
        written.waiting.push(...waiting)
        written.lost.push(...lost)
        addPayers(payers, waiting)
      }
      for (let [reservation] = reservations; reservation !== undefined; [reservation] = reservations) {
        await writeOne({ settlements: [], reservations: [reservation] })
        reservations.shift()
      }
    } catch (error) {
      // They are the first to be tried again.
      settlements.unshift(...written.waiting)
      throw error
    }
    return written
  }

  /**
   * Writes a batch. `waitingPayers` are those of settlements that wait already. Throws StoreUnavailable when
   * what is left in the batch is to be tried again.
   */
  return async function write (batch: Batch, waitingPayers: ReadonlySet<string>): Promise<Written> {
    try {
      return { waiting: await inTerm(batch, ({ dirty }) => ({ dirty: [...dirty], waitingPayers })), lost: [] }
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      log.warn({ err: error }, 'the database rejected a batch of the ledger; its items are committed one by one')
    }
    return await writeOneByOne(batch, waitingPayers)
  }
}

/** Adds the payers whose later settlements must wait too, because they are booked in order. */
export function addPayers (payers: Set<string>, waiting: readonly Settlement[]): void {
  for (const { sequence, hold: { chain: [payer = ''] } } of waiting) if (sequence > 0) payers.add(payer)
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
