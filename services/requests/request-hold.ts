import type { Charge, Quote } from '../billing/charge.ts'
import type { Payer } from '../billing/payer.ts'
import type { JobHold } from '../ledger/hold/job-holds.ts'
import type { Hold, Ledger } from '../ledger/ledger.ts'

interface RequestHoldsOptions {
  ledger: Pick<Ledger, 'reserve'>
  /** Unique ids for holds. */
  newId: () => string
  /** Receives writes that failed, which the ledger retries. */
  onError: (error: unknown) => void
  /** Receives each request that cost more than its hold. Only the hold was charged. */
  onExcess: (excess: { requestId: string, model: string, heldNano: number, costNano: number }) => void
}

export type RequestHolds = (payer: Payer, requestId: string) => RequestHold

/** Creates the factory of the holds of requests. */
export function createRequestHolds (options: RequestHoldsOptions): RequestHolds {
  let watched: Promise<void> | null = null

  /** Holds that are written together share one promise; it gets one handler. */
  function watch (written: Promise<void>): void {
    if (written === watched) return
    watched = written
    written.catch(options.onError)
  }

  return (payer, requestId) => new RequestHold({ ...options, watch }, payer, requestId)
}

interface HoldContext extends RequestHoldsOptions { watch: (written: Promise<void>) => void }

/**
 * The money of one request. `cover` holds the most that the candidate about to be called may cost; `settle`
 * charges what it did cost, at most what is held; `end` releases what was not settled.
 */
export class RequestHold {
  readonly #context: HoldContext
  readonly #payer: Payer
  readonly #requestId: string
  #hold: Hold | null = null
  #model = ''
  #isSettled = false

  constructor (context: HoldContext, payer: Payer, requestId: string) {
    this.#context = context
    this.#payer = payer
    this.#requestId = requestId
  }

  /**
   * Replaces what was held for another candidate. That is released first: an account is never asked for the
   * price of two, and a failed attempt cannot be charged. Throws GatewayError 402 when the money does not
   * suffice, StoreUnavailable when the database cannot be reached.
   */
  async cover (model: string, { maxNano }: Pick<Quote<never>, 'maxNano'>): Promise<void> {
    this.#release()
    this.#model = model
    if (maxNano === 0) return
    const { ledger, newId } = this.#context
    const { chain, key } = this.#payer
    this.#hold = await ledger.reserve({ id: newId(), chain, key, amountNano: maxNano, fresh: true })
  }

  /**
   * Charges the request. Returns the amount in nano-USD, null while it is being estimated or when the request
   * was settled before.
   */
  settle (chargeFor: () => Charge | Promise<Charge>): number | null {
    if (this.#isSettled) return null
    this.#isSettled = true
    const charge = this.#priced(chargeFor)
    if (!(charge instanceof Promise)) return this.#book(charge)
    charge.then(estimated => this.#book(estimated), (error: unknown) => {
      this.#context.onError(error)
      this.#release()
    })
    return null
  }

  /** Releases the hold unless it was settled. */
  end (): void {
    if (!this.#isSettled) this.#release()
    this.#isSettled = true
  }

  /** A charge that cannot be computed must not keep the hold. */
  #priced (chargeFor: () => Charge | Promise<Charge>): Charge | Promise<Charge> {
    try {
      return chargeFor()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #book ({ amountNano: costNano, usage, estimated }: Charge): number {
    const heldNano = this.#hold?.amountNano ?? 0
    const amountNano = Math.min(costNano, heldNano)
    const model = this.#model
    if (costNano > heldNano) this.#context.onExcess({ requestId: this.#requestId, model, heldNano, costNano })
    if (this.#hold !== null) {
      this.#context.watch(this.#hold.settle({ amountNano, ref: this.#requestId, model, usage, estimated }))
    }
    return amountNano
  }

  #release (): void {
    if (this.#hold !== null) this.#context.watch(this.#hold.release())
    this.#hold = null
  }
}

/**
 * Holds the money of a job, which outlives its request: until `expiresAt` (ms since 1970) if no job follows,
 * else until the job ends it, see `JobHolds`. Null for a job that is free. Throws like `RequestHold.cover`.
 */
export async function holdForJob (
  ledger: Pick<Ledger, 'reserve' | 'forget'>, { key, chain }: Payer,
  { id, maxNano, expiresAt }: { id: string, maxNano: number, expiresAt: number }
): Promise<JobHold | null> {
  if (maxNano === 0) return null
  const hold = { id, chain, key, amountNano: maxNano }
  await ledger.reserve({ ...hold, durable: true, expiresAt })
  ledger.forget(id)
  return hold
}
