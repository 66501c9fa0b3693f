import type { Charge, Quote } from '../billing/charge.ts'
import type { Payer } from '../billing/payer.ts'
import type { Booking, JobHold } from '../billing/ledger/hold/job-holds.ts'
import type { Hold, Ledger, Posting, Reservation } from '../billing/ledger/ledger.ts'
import type { CostWatch } from './cost-watch.ts'
import type { Settled } from './delivery.ts'
import { GatewayError } from '../shared/errors.ts'

interface ReservationsOptions {
  ledger: Pick<Ledger, 'reserve'>
  /** Unique ids for holds. */
  newId: () => string
  /** Receives charges that could not be computed, and writes that failed, which the ledger retries. */
  onError: (error: unknown) => void
  /** Receives what providers report that a request has cost. */
  onReportedCost?: CostWatch
}

/** How long a request may wait for money that is held for others. */
export type Patience = Pick<Reservation, 'signal' | 'dueMs'>
/** `fresh: false` for a charge that is looked up by the id of its hold; true by default. */
type ReservationOptions = Patience & Pick<Reservation, 'fresh'>

export type RequestReservations = (
  payer: Payer, requestId: string, options?: ReservationOptions
) => RequestReservation

/** Creates the factory of the holds of requests. */
export function createRequestReservations (options: ReservationsOptions): RequestReservations {
  let watched: Promise<void> | null = null

  /** Holds that are written together share one promise; it gets one handler. */
  function watch (written: Promise<void>): void {
    if (written === watched) return
    watched = written
    written.catch(options.onError)
  }

  const context = { ...options, watch }
  return (payer, requestId, options = {}) => new RequestReservation(context, payer, requestId, options)
}

type MaxPrice = Pick<Quote<never>, 'maxNano'>

const maxQuotes = 3
const uncharged: Settled = { costNano: null, estimate: null }

interface ReservationContext extends ReservationsOptions { watch: (written: Promise<void>) => void }

/**
 * The money of one request. `reserve` holds the most that the candidate about to be called may cost; `settle`
 * charges what it did cost; `release` frees what was not settled.
 */
export class RequestReservation {
  readonly #context: ReservationContext
  readonly #payer: Payer
  readonly #requestId: string
  readonly #options: ReservationOptions
  #hold: Hold | null = null
  #model = ''
  /** What the request was charged; null: it was not settled. */
  #settled: Promise<Settled> | null = null
  #written: Promise<void> | null = null

  constructor (context: ReservationContext, payer: Payer, requestId: string, options: ReservationOptions) {
    this.#context = context
    this.#payer = payer
    this.#requestId = requestId
    this.#options = options
  }

  /**
   * Replaces what was held for another candidate. That is released first: an account is never asked for the
   * price of two, and a failed attempt cannot be charged. Throws GatewayError 402 when the money does not
   * suffice, 429 while it is held for others; StoreUnavailable when the database cannot be reached.
   */
  async reserve (model: string, { maxNano }: MaxPrice): Promise<void> {
    this.#release()
    this.#model = model
    const { ledger, newId } = this.#context
    const { chain, key } = this.#payer
    const { signal, dueMs, fresh = true } = this.#options
    this.#hold = await ledger.reserve({ id: newId(), chain, key, amountNano: maxNano, fresh, signal, dueMs })
  }

  /**
   * Reserves what `quote` returns. If that follows from the money of the account, which was spent meanwhile,
   * reserves what it returns now. Throws like `reserve`, and what `quote` throws.
   */
  async reserveQuoted<Priced extends MaxPrice> (
    model: string, quote: () => Promise<Priced>
  ): Promise<Priced> {
    let quoted = await quote()
    for (let quotesLeft = maxQuotes - 1; ; quotesLeft--) {
      try {
        await this.reserve(model, quoted)
        return quoted
      } catch (error) {
        const isSpent = error instanceof GatewayError && error.status === 402
        if (!isSpent || quotesLeft === 0) throw error
        const lower = await quote()
        if (lower.maxNano >= quoted.maxNano) throw error
        quoted = lower
      }
    }
  }

  /** What `settle` would book; null if nothing is held. */
  booking (charge: Charge, provider: string): Booking | null {
    if (this.#hold === null) return null
    const { id, amountNano } = this.#hold
    const { chain, key } = this.#payer
    return { hold: { id, chain, key, amountNano }, posting: this.#posting(charge, provider) }
  }

  /**
   * Charges the response of `provider` and resolves with the cost reported to the client: null if it cannot
   * be computed, or if the request has ended. A request is settled once; later calls resolve with the same.
   */
  settle (chargeFor: () => Charge | Promise<Charge>, provider: string | null = null): Promise<Settled> {
    this.#settled ??= this.#charge(chargeFor, provider)
    return this.#settled
  }

  async #charge (chargeFor: () => Charge | Promise<Charge>, provider: string | null): Promise<Settled> {
    try {
      const charge = await chargeFor()
      const estimate = charge.isUsageEstimated === true ? charge.usage : null
      return { costNano: this.#book(charge, provider), estimate }
    } catch (error) {
      this.#giveUp(error)
      return uncharged
    }
  }

  /**
   * Charges nothing, and books to suspense what `provider` may charge the operator for a response that the
   * client does not get. Does nothing if the request was settled before.
   */
  suspend (chargeFor: () => Charge, provider: string): void {
    if (this.#settled !== null || this.#hold === null) return
    this.#settled = Promise.resolve(uncharged)
    try {
      this.#context.watch(this.#hold.suspend(this.#posting(chargeFor(), provider)))
    } catch (error) {
      this.#giveUp(error)
    }
  }

  /** Resolves once the charge is on disk, or was rejected for good, which `onError` has received. */
  async written (): Promise<void> {
    await this.#written?.catch(() => {})
  }

  /** Releases the hold unless it was settled. */
  release (): void {
    if (this.#settled === null) this.#release()
    this.#settled ??= Promise.resolve(uncharged)
  }

  #book (charge: Charge, provider: string | null): number {
    if (this.#hold === null) return 0
    this.#written = this.#hold.settle(this.#posting(charge, provider))
    this.#context.watch(this.#written)
    const { amountNano, costNano: expectedNano = amountNano, reportedNano } = charge
    if (reportedNano !== undefined) {
      this.#context.onReportedCost?.({ provider, model: this.#model, expectedNano, reportedNano })
    }
    return this.#hold.chargedNano
  }

  #posting (charge: Charge, provider: string | null): Posting {
    return { ...charge, ref: this.#requestId, model: this.#model, provider, tags: this.#payer.tags ?? null }
  }

  /** A charge that cannot be computed must not keep the hold. */
  #giveUp (error: unknown): void {
    this.#context.onError(error)
    this.#release()
  }

  #release (): void {
    if (this.#hold !== null) this.#context.watch(this.#hold.release())
    this.#hold = null
  }
}

/**
 * Holds the money of a job, which outlives its request: until `expiresAt` (ms since 1970) if no job follows,
 * else until the job ends it, see `JobHolds`. Null for a job that is free. Throws like
 * `RequestReservation.reserve`.
 */
export async function reserveForJob (
  ledger: Pick<Ledger, 'reserve' | 'forget'>, { key, chain }: Payer,
  { id, maxNano, expiresAt, ...patience }: { id: string, maxNano: number, expiresAt: number } & Patience
): Promise<JobHold | null> {
  if (maxNano === 0) return null
  const hold = { id, chain, key, amountNano: maxNano }
  await ledger.reserve({ ...hold, durable: true, expiresAt, ...patience })
  ledger.forget(id)
  return hold
}
