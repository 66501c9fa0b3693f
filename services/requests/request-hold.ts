import { GatewayError } from '../shared/errors.ts'
import type { Charge, Meter, Sale } from '../billing/charge.ts'
import { whenThere } from '../shared/sync-or-async.ts'
import type { Candidate } from './candidates.ts'

/** The money for one request: what is held is always the most that the candidate being called may cost. */
export class Till {
  /** The charge of the candidate that was last prepared for. */
  charge: Charge | null = null
  #holder: Candidate | null = null
  readonly #meter: Meter
  readonly #sale: Omit<Sale, 'model' | 'price'>

  constructor (meter: Meter, sale: Omit<Sale, 'model' | 'price'>) {
    this.#meter = meter
    this.#sale = sale
  }

  /**
   * Holds what a candidate may cost, in place of what was held for another one: one hold at a time, given
   * back before the next is taken, so that an attempt that failed can never be charged, and an account is not
   * asked for the price of two. Returns false when the money does not suffice for one that is only a
   * substitute; throws what `Meter.admit` throws for the first.
   */
  prepare (candidate: Candidate): boolean | Promise<boolean> {
    const { model, price } = candidate
    const holder = this.#holder
    if (this.charge !== null && holder?.model === model && holder.price === price) return true
    this.charge?.cancel()
    this.charge = null
    this.#holder = candidate
    const refused = (error: unknown): false => {
      if (holder === null || !(error instanceof GatewayError)) throw error
      return false
    }
    try {
      const admitted = whenThere(this.#meter.admit({ ...this.#sale, model, price }), charge => {
        this.charge = charge
        return true
      })
      return admitted instanceof Promise ? admitted.catch(refused) : admitted
    } catch (error) {
      return refused(error)
    }
  }
}
