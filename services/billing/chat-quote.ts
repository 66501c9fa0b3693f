import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig, Price } from '../catalogue/types.ts'
import type { StreamReport, Usage } from '../providers/provider.ts'
import type { Charge, Quote } from './charge.ts'
import { estimateUsage } from './estimate-usage.ts'
import { limitOf, maxCost } from './max-cost.ts'
import { typicalTokens } from './token-guess.ts'
import { tokenCostNano, tokenPriceOf, type TokenPrice } from './token-price.ts'
import type { Ledger } from '../ledger/ledger.ts'

export interface ChatSale {
  request: ChatCompletionRequest | CompletionRequest
  /** The length of the request as received. */
  bodyBytes: number
  model: ModelConfig
  /** What the model costs at this candidate. */
  price: Price | null
  /** What the payer can spend now, in nano-USD; needed only if the client set no limit. */
  available: () => number | Promise<number>
}

export interface ChatQuote extends Quote<StreamReport> {
  /** The output limit to send to the provider; null: nothing beyond what the client said. */
  readonly outputLimit: number | null
}

/** Prices a request for text. Throws GatewayError 400 for a model without a price. */
export async function quoteChat (sale: ChatSale): Promise<ChatQuote> {
  const { request, bodyBytes, model } = sale
  const price = tokenPriceOf({ id: model.id, price: sale.price })
  if (isFree(price)) return { maxNano: 0, outputLimit: null, chargeFor: () => free }
  const availableNano = limitOf(request) === null ? await sale.available() : 0
  const { amountNano, outputLimit } = maxCost({ request, bodyBytes, model, price, availableNano })
  return { maxNano: amountNano, outputLimit, chargeFor: report => chargeFor(sale, price, report) }
}

const free: Charge = { amountNano: 0, usage: {}, estimated: false }

function isFree (price: TokenPrice): boolean {
  const { inputPico, outputPico, audioInputPico = 0, audioOutputPico = 0, tiers } = price
  return inputPico === 0 && outputPico === 0 && audioInputPico === 0 && audioOutputPico === 0 &&
    (tiers === undefined || tiers.every(isFree))
}

/** Charges the reported usage, else an estimate from what was sent and what was delivered. */
function chargeFor (
  { request, bodyBytes }: ChatSale, price: TokenPrice, { usage, delivered }: StreamReport
): Charge | Promise<Charge> {
  if (usage !== null) return toCharge(usage, price, false)
  const { text } = delivered
  return estimateUsage(request, text).catch((): Usage => {
    // The tokenizer has failed.
    const { bytesPerToken } = typicalTokens
    const tokensOf = (length: number) => Math.ceil(length / bytesPerToken)
    return { prompt: tokensOf(bodyBytes), completion: tokensOf(text.length) }
  }).then(estimate => toCharge(estimate, price, true))
}

function toCharge (tokens: Usage, price: TokenPrice, estimated: boolean): Charge {
  return { amountNano: tokenCostNano(tokens, price), usage: countsOf(tokens), estimated }
}

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

/** What the poorest account of a chain can still spend, in nano-USD, as far as this node knows. */
export async function leastAvailable (
  ledger: Pick<Ledger, 'availableHint'>, chain: readonly string[]
): Promise<number> {
  let least = Infinity
  for (const account of chain) least = Math.min(least, await ledger.availableHint(account))
  return least
}
