import { isDeepStrictEqual } from 'node:util'
import { quoteChat, type ChatQuote } from '../billing/chat-quote.ts'
import { leastMeans, type TokenLimits } from '../billing/max-cost.ts'
import type { ResponseLengths } from '../billing/response-lengths.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import { PluginError } from '../extensions/plugin-error.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { hasOutput, isCounted } from '../providers/report.ts'
import { isAbandoned } from '../requests/attempt.ts'
import { tokenLimitsOf, type Candidate } from '../requests/candidates.ts'
import type { Settled } from '../requests/delivery.ts'
import type { RequestReservation } from '../requests/request-reservation.ts'
import { noteExcess } from './context-window.ts'
import type { ChatPlan } from './plan-chat.ts'
import { extrasOf } from './priced-requests.ts'
import type { AnyRequest, Extras, ProviderCalls } from './client-api.ts'

interface ReservationOptions {
  reserved: RequestReservation
  ledger: Pick<Ledger, 'means'>
  lengths: ResponseLengths
  /** What the client's API has priced separately, beside what the chat request says. */
  extras: ProviderCalls<AnyRequest>['extras']
  /** Whether a stream that broke off is charged for its text, before its usage has come. */
  chargesBroken: boolean
}

/** What decides how much is reserved for a candidate, beside its price. */
type Terms = Extras & TokenLimits

/**
 * The money of one chat request: `reserve` reserves the most that a candidate may cost, `settle` charges what
 * was delivered, `release` releases what was not charged.
 */
export class ChatReservation {
  readonly #planned: ChatPlan<AnyRequest>
  readonly #options: ReservationOptions
  #candidate: Candidate<ChatProvider> | null = null
  #quote: ChatQuote | null = null
  #terms: Terms | null = null

  constructor (planned: ChatPlan<AnyRequest>, options: ReservationOptions) {
    this.#planned = planned
    this.#options = options
  }

  /** The candidate that the money is reserved for; null: none. */
  get candidate (): Candidate<ChatProvider> | null { return this.#candidate }

  /** What is reserved for it. */
  get quote (): ChatQuote | null { return this.#quote }

  /** Reserves what a candidate may cost, unless just that is reserved. Throws like `reserveQuoted`. */
  async reserve (candidate: Candidate<ChatProvider>): Promise<void> {
    const { exchange: { body, payer, record }, auto, prompt } = this.#planned
    const { reserved, ledger, lengths, extras } = this.#options
    const { model, price } = candidate
    const limits = tokenLimitsOf(candidate)
    const terms = { ...extrasOf(body, candidate), ...extras?.(candidate), ...limits }
    const last = this.#candidate
    if (last?.model === model && last.price === price && isDeepStrictEqual(terms, this.#terms)) return
    this.#candidate = null
    this.#quote = null
    this.#terms = terms
    const quote = await reserved.reserveQuoted(model.id, async () => await quoteChat({
      ...terms,
      limits,
      request: body,
      prompt,
      model,
      price,
      means: async () => await leastMeans(ledger, payer.chain),
      lengths,
      ceilingNano: auto?.ceilingNano ?? null,
      bestPrice: auto?.bestPrice ?? null
    }))
    this.#candidate = candidate
    this.#quote = quote
    record.heldNano = quote.maxNano
  }

  /** Another candidate at the same price has responded. */
  moveTo (candidate: Candidate<ChatProvider>): void {
    this.#candidate = candidate
  }

  /**
   * Charges the delivered usage and resolves with the cost reported to the client. A stream is free if the
   * provider or a closing gateway ended it before its first text or, with `charge_broken_streams` off, before
   * its usage.
   */
  async settle (): Promise<Settled> {
    const { exchange: { body, record, signal } } = this.#planned
    const { reserved, chargesBroken } = this.#options
    const { report, failure } = record
    const quote = this.#quote
    const candidate = this.#candidate
    const uncharged = { costNano: record.costNano, estimate: null }
    if (quote === null || report === null) return uncharged
    // What a plugin ends was generated, and is charged.
    const isBroken = failure !== null && !(failure instanceof PluginError) && !isAbandoned(signal)
    if (isBroken && !(chargesBroken ? hasOutput(report) : isCounted(report))) return uncharged
    const settled = await reserved.settle(() => quote.chargeFor(report, candidate?.cost), record.provider)
    record.costNano = settled.costNano
    if (candidate !== null) noteExcess(candidate, body, quote, report)
    return settled
  }

  /** Releases the money unless it was settled. */
  release (): void {
    this.#options.reserved.release()
  }
}
