import { GatewayError } from '../errors.ts'
import type { Charge, Meter, Sale } from '../metering/meter.ts'
import type { Candidate } from './candidates.ts'

/** The money for one request: what is held is always the most that the candidate being called may cost. */
export interface Till {
  /** The charge of the candidate that was last prepared for. */
  readonly charge: Charge | null
  /**
   * Holds what a candidate may cost, in place of what was held for another one. Returns false when the money
   * does not suffice for one that is only a substitute; throws what `Meter.admit` throws for the first.
   */
  prepare (candidate: Candidate): Promise<boolean>
}

/**
 * Opens the till for a request. One hold at a time, given back before the next is taken: an attempt that
 * failed can never be charged, and an account is not asked for the price of two.
 */
export function openTill (meter: Meter, sale: Omit<Sale, 'model' | 'price'>): Till {
  let charge: Charge | null = null
  let holder: Candidate | null = null
  return {
    get charge () { return charge },
    async prepare (candidate) {
      const { model, price } = candidate
      if (charge !== null && holder?.model === model && holder.price === price) return true
      const isFirst = holder === null
      charge?.cancel()
      charge = null
      holder = candidate
      try {
        charge = await meter.admit({ ...sale, model, price })
        return true
      } catch (error) {
        if (isFirst || !(error instanceof GatewayError)) throw error
        return false
      }
    }
  }
}
