import type { Log } from '../../../shared/log.ts'
import { StoreUnavailable } from '../../../store/store.ts'
import { TermEnded, type NodeMembership } from '../cluster/node-membership.ts'
import { idempotencyConflict } from '../errors.ts'
import type { Ledger } from '../ledger.ts'
import { allowanceOf, type Term } from '../node-allowance.ts'
import { holdState, type DurableRow } from '../sql/rows.ts'
import { isFree, type Batch, type PendingReservation, type Settlement } from '../types.ts'
import type { Commit, Committed } from './commit.ts'
import type { SuspendBare } from './suspend-bare.ts'

interface WriterContext {
  commit: Commit
  membership: NodeMembership
  log: Log
  suspendBare: SuspendBare
  reportSuspended: Ledger['reportSuspended']
}

const maxTerms = 3
/** How many settlements of a batch are refused, and none accepted, until the rest is not tried. */
const maxRefusals = 5

export type Write = ReturnType<typeof createWriter>

/**
 * Creates the function that commits batches and reports to each reservation. If the database rejects a batch,
 * its items are committed one by one, so that a wrong one keeps no other from being booked.
 *
 *     batch ── rejected ──▶ each settlement ── rejected ──▶ suspense ── rejected ──▶ its amount in suspense
 *
 * A settlement is booked by the first of these that the database accepts. If it rejects every settlement, the
 * fault is the database's, and all are tried again later. One factory, because the steps call each other.
 */
export function createWriter ({ commit, membership, log, suspendBare, reportSuspended }: WriterContext) {
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

  /**
   * Returns the settlement if it has to wait. A charge that the database rejects goes to suspense, and its
   * amount alone if it rejects that too: because of its values, or because it `acceptsOthers`. Throws
   * StoreUnavailable if it is not booked at all.
   */
  async function writeSettlement (
    settlement: Settlement, waitingPayers: ReadonlySet<string>, acceptsOthers: boolean
  ): Promise<Settlement[]> {
    const { hold, suspended } = settlement
    try {
      return await inTerm({ settlements: [settlement], reservations: [] }, () => ({ waitingPayers }))
    } catch (error) {
      if (!isRejection(error)) throw error
      if (suspended !== 'rejected' && !isFree(hold)) {
        const waiting = await writeSettlement({ ...settlement, suspended: 'rejected' }, waitingPayers, acceptsOthers)
        log.error({ err: error, ...logFieldsOf(settlement) }, 'a request cannot be charged to its account')
        return waiting
      }
      if (error instanceof StoreUnavailable && !acceptsOthers) throw error
      return await suspendAmount(settlement, error)
    }
  }

  async function suspendAmount (settlement: Settlement, error: unknown): Promise<Settlement[]> {
    const { hold: { grant }, charge } = settlement
    reportSuspended(await suspendBare(settlement))
    log.error({ err: error, ...logFieldsOf(settlement) }, 'a request could not be booked in full; its amount is in suspense')
    if (grant !== null && grant.term === membership.term) {
      for (const allowance of grant.allowances) allowance.postedNano -= charge?.amountNano ?? 0
    }
    return []
  }

  /**
   * Books settlements one by one, and returns those that wait. What the database refuses keeps no other from
   * being booked: only if it refuses all, they are tried again.
   */
  async function bookOneByOne (
    settlements: Settlement[], waitingPayers: ReadonlySet<string>
  ): Promise<Settlement[]> {
    const waiting: Settlement[] = []
    const payers = new Set(waitingPayers)
    /** Those refused, and what must not be booked before them. */
    const refused: Settlement[] = []
    const refusedPayers = new Set<string>()
    const refusals: unknown[] = []
    let isAnyBooked = false

    async function attempt (settlement: Settlement): Promise<void> {
      if (isBehind(settlement, refusedPayers)) {
        refused.push(settlement)
        return
      }
      try {
        const waits = await writeSettlement(settlement, payers, false)
        waiting.push(...waits)
        addPayers(payers, waits)
        isAnyBooked ||= waits.length === 0
      } catch (error) {
        if (!isRejection(error)) throw error
        refusals.push(error)
        refused.push(settlement)
        addPayers(refusedPayers, [settlement])
      }
    }

    try {
      for (let [settlement] = settlements; settlement !== undefined; [settlement] = settlements) {
        await attempt(settlement)
        settlements.shift()
        if (!isAnyBooked && refusals.length === maxRefusals) break
      }
      if (!isAnyBooked && refusals.length > 0) throw refusals[0]
      // The database accepts others, so the fault is their own.
      for (let [settlement] = refused; settlement !== undefined; [settlement] = refused) {
        const waits = await writeSettlement(settlement, payers, true)
        refused.shift()
        waiting.push(...waits)
        addPayers(payers, waits)
      }
    } catch (error) {
      // They are the first to be tried again.
      settlements.unshift(...waiting, ...refused)
      throw error
    }
    return waiting
  }

  async function reserveOneByOne (reservations: PendingReservation[]): Promise<void> {
    for (let [reservation] = reservations; reservation !== undefined; [reservation] = reservations) {
      try {
        await inTerm({ settlements: [], reservations: [reservation] }, () => ({}))
      } catch (error) {
        if (!isRejection(error)) throw error
        reservation.refused(error)
      }
      reservations.shift()
    }
  }

  /**
   * Writes a batch, and returns the settlements that wait for locked accounts, in their order.
   * `waitingPayers` are those of settlements that wait already. Throws StoreUnavailable when what is left in
   * the batch is to be tried again: no settlement is ever given up.
   */
  return async function write (batch: Batch, waitingPayers: ReadonlySet<string>): Promise<Settlement[]> {
    try {
      return await inTerm(batch, ({ dirty }) => ({ dirty: [...dirty], waitingPayers }))
    } catch (error) {
      if (!isRejection(error)) throw error
      log.warn({ err: error }, 'the database rejected a batch of the ledger; its items are committed one by one')
    }
    const waiting = await bookOneByOne(batch.settlements, waitingPayers)
    try {
      await reserveOneByOne(batch.reservations)
    } catch (error) {
      batch.settlements.unshift(...waiting)
      throw error
    }
    return waiting
  }
}

/** Whether the database can be reached, but rejects what was to be written, or a part of it. */
function isRejection (error: unknown): boolean {
  return !(error instanceof StoreUnavailable) || error.problem === 'refused'
}

/** What the log says of a settlement: enough to book it by hand. */
export function logFieldsOf ({ hold: { id, chain, key }, charge, at }: Settlement): object {
  return { hold: id, chain, key, posting: charge?.posting, at }
}

const isBehind = ({ sequence, hold: { chain: [payer = ''] } }: Settlement, payers: ReadonlySet<string>): boolean =>
  sequence > 0 && payers.has(payer)

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
