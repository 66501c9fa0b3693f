import type { Price } from '../config/catalogue/types.ts'

/** What a request is charged, and what it costs the operator. */
export interface Charge {
  /** Integer nano-USD. */
  amountNano: number
  /** Tokens, images or seconds, as they are booked. */
  usage: Readonly<Record<string, number>>
  /** Whether the provider did not count all of it. */
  estimated: boolean
  /** Whether `usage` was estimated here, at least in part; absent: the provider's latest counts. */
  isUsageEstimated?: true
  /** Whether the provider may charge more, up to what is held, for a call that was closed before its end. */
  mayCostMore?: boolean
  /** What the operator pays, by the cost price, in nano-USD; absent: not known. */
  costNano?: number
  /** What the provider reports that the operator pays, in nano-USD; absent: it does not. */
  reportedNano?: number
  /**
   * How much more the best model of the pool of `auto` would have charged for the same tokens, in nano-USD;
   * absent: the client named the model.
   */
  savedNano?: number
}

/** What a request may cost at one candidate, and what its response is charged. */
export interface Quote<Answer> {
  /** The most it may cost, in integer nano-USD: what is held. */
  readonly maxNano: number
  /** `cost` is the cost price of the candidate that has answered. */
  chargeFor (response: Answer, cost?: Price | null): Charge | Promise<Charge>
}
