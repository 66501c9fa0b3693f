import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig, Price } from '../catalogue/types.ts'
import { leastAvailable } from './least-available.ts'
import type { Hold, Ledger } from '../ledger/ledger.ts'
import type { StreamReport, Usage } from '../providers/provider.ts'
import { whenThere } from '../shared/sync-or-async.ts'
import { estimateUsage } from './estimate-usage.ts'
import { costNano, tokenPriceOf, type TokenPrice } from './token-price.ts'
import { limitOf, worstCase } from './max-cost.ts'
import type { Payer } from './payer.ts'

/** What is to be sold. `bodyBytes` is the length of the request as received. */
export interface Sale {
  payer: Payer
  requestId: string
  request: ChatCompletionRequest | CompletionRequest
  bodyBytes: number
  model: ModelConfig
  /** What it costs where it is to run. */
  price: Price | null
}

/** A sale under way, its worst case held. `settle` or `cancel` ends it, whichever comes first. */
export interface Charge {
  /**
   * What the provider must be told about the length of an answer; null: nothing beyond what the client said.
   */
  readonly outputLimit: number | null
  /**
   * Books the usage that the provider reported, else an estimate; returns the cost in nano-USD when known at
   * once.
   */
  settle (report: StreamReport): number | null
  /** Gives everything back: nothing was delivered. */
  cancel (): void
}

export interface Meter {
  /**
   * Holds the most that the sale may cost, at the price of now; at once where the money is at hand. Throws,
   * or rejects with, GatewayError 400 for a model without a price, 402 when the money does not suffice,
   * StoreUnavailable when the database cannot be asked.
   */
  admit (sale: Sale): Charge | Promise<Charge>
}

interface MeterOptions {
  ledger: Ledger
  /** Unique ids for holds. */
  newId: () => string
  /** Hears of bookings that failed; the ledger tries them again by itself. */
  onError: (error: unknown) => void
}

/** Prices requests and books them in the ledger. */
export function createMeter ({ ledger, newId, onError }: MeterOptions): Meter {
  let watched: Promise<void> | null = null

  /** Ends of holds that are written together share a promise, which is listened to once. */
  function watch (written: Promise<void>): void {
    if (written === watched) return
    watched = written
    written.catch(onError)
  }

  const ways = { onError, watch }

  return {
    admit (sale) {
      const { payer: { key, chain }, request, bodyBytes, model } = sale
      const price = tokenPriceOf({ id: model.id, price: sale.price })
      if (isFree(price)) return freeOfCharge
      const available = limitOf(request) === null ? leastAvailable(ledger, chain) : 0
      return whenThere(available, availableNano => {
        const { amountNano, outputLimit } = worstCase({ request, bodyBytes, model, price, availableNano })
        const reserved = ledger.reserve({ id: newId(), chain, key, amountNano, fresh: true })
        return whenThere(reserved, hold => new HeldCharge(hold, sale, price, outputLimit, ways))
      })
    }
  }
}

/** Whether nothing in it costs anything, however it is used. */
function isFree (price: TokenPrice): boolean {
  const { inputPico, outputPico, audioInputPico = 0, audioOutputPico = 0, tiers } = price
  return inputPico === 0 && outputPico === 0 && audioInputPico === 0 && audioOutputPico === 0 &&
    (tiers === undefined || tiers.every(isFree))
}

const freeOfCharge: Charge = { outputLimit: null, settle: () => 0, cancel () {} }

/** What the charges of a meter have in common. */
interface Ways extends Pick<MeterOptions, 'onError'> { watch: (written: Promise<void>) => void }

/** A class, because a charge is made for every request: what settles it is not made anew for each. */
class HeldCharge implements Charge {
  readonly outputLimit: number | null
  readonly #hold: Hold
  readonly #sale: Sale
  readonly #price: TokenPrice
  readonly #ways: Ways
  #isOpen = true

  constructor (hold: Hold, sale: Sale, price: TokenPrice, outputLimit: number | null, ways: Ways) {
    this.outputLimit = outputLimit
    this.#hold = hold
    this.#sale = sale
    this.#price = price
    this.#ways = ways
  }

  settle ({ usage, delivered }: StreamReport): number | null {
    if (!this.#isOpen) return null
    this.#isOpen = false
    if (usage !== null) return this.#book(usage, false)
    const { request, bodyBytes } = this.#sale
    const { onError } = this.#ways
    const text = delivered.text
    estimateUsage(request, text).catch(error => {
      onError(error)
      const completion = Math.ceil(text.length / bytesPerToken)
      return { prompt: Math.ceil(bodyBytes / bytesPerToken), completion }
    }).then(estimate => this.#book(estimate, true)).catch(onError)
    return null
  }

  cancel (): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#ways.watch(this.#hold.release())
  }

  #book (usage: Usage, estimated: boolean): number {
    const { requestId, model } = this.#sale
    const amountNano = costNano(usage, this.#price)
    const posting = { amountNano, ref: requestId, model: model.id, usage: countsOf(usage), estimated }
    this.#ways.watch(this.#hold.settle(posting))
    return amountNano
  }
}

/** Where even the estimate fails. */
const bytesPerToken = 4

/** The counts that are kept in the books. */
function countsOf (usage: Usage): Record<string, number> {
  const { prompt, completion, cachedRead, cacheWrite, reasoning, audioInput, audioOutput } = usage
  const counts: Record<string, number> = { prompt, completion }
  if (cachedRead !== undefined) counts.cachedRead = cachedRead
  if (cacheWrite !== undefined) counts.cacheWrite = cacheWrite
  if (reasoning !== undefined) counts.reasoning = reasoning
  if (audioInput !== undefined) counts.audioInput = audioInput
  if (audioOutput !== undefined) counts.audioOutput = audioOutput
  return counts
}
