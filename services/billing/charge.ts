/** What a request is charged. */
export interface Charge {
  /** Integer nano-USD. */
  amountNano: number
  /** Tokens, images or seconds, as they are booked. */
  usage: Readonly<Record<string, number>>
  /** Whether the provider reported no usage. */
  estimated: boolean
}

/** What a request may cost at one candidate, and what an answer of it is charged. */
export interface Quote<Answer> {
  /** The most it may cost, in integer nano-USD: what is held. */
  readonly maxNano: number
  chargeFor (answer: Answer): Charge | Promise<Charge>
}
