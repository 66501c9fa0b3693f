import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig, Price } from '../config/catalogue/types.ts'
import type { AccountMeans } from './ledger/ledger.ts'
import type { HeldOutput } from '../providers/provider.ts'
import type { StreamReport, Usage } from '../providers/report.ts'
import { outputLimitOf, promptsOf } from '../shared/request-fields.ts'
import type { Charge, Quote } from './charge.ts'
import { estimateWithin } from './estimate-usage.ts'
import { maxCost, type MaxCost, type TokenLimits } from './max-cost.ts'
import type { PromptSize } from './prompt-size.ts'
import { reportedSum } from './provider-cost.ts'
import type { ResponseLengths } from './response-lengths.ts'
import { costsNothing, serviceTierPriceOf, tokenCostNano, tokenPriceOf, type TokenPrice } from './token-price.ts'

export interface ChatSale {
  request: ChatCompletionRequest | CompletionRequest
  prompt: PromptSize
  model: Pick<ModelConfig, 'id'>
  /** How long prompts and completions may be at this candidate. */
  limits: TokenLimits
  /** What the model costs there. */
  price: Price | null
  /** What the payer has; read only if the client set no limit. */
  means: () => Promise<AccountMeans>
  /** Learns from completions without a limit how much to hold for the next one. */
  lengths: ResponseLengths
  /** The service tier that the provider is asked for, if it has a price; absent or null: the standard one. */
  tier?: string | null
  /** Whether the provider searches the web for this request. */
  searches?: boolean
  /** Whether a part of the prompt is put into a cache for an hour. */
  longCache?: boolean
  /** The tokens of thoughts beyond the output limit; 0 by default. */
  thoughtTokens?: number
  /** The most that the request may cost; absent or null: no limit. */
  ceilingNano?: number | null
  /** The price that savings are measured against; absent or null: none are. */
  bestPrice?: TokenPrice | null
}

export interface ChatQuote extends Quote<StreamReport> {
  /** The output limit to send to the provider; null: nothing beyond what the client said. */
  readonly outputLimit: number | null
  /** What the hold covers; null: the model is free. */
  readonly held: HeldOutput | null
}

/**
 * Prices a request for text. Throws GatewayError 400 for a model without a price, or above the ceiling, and
 * StoreUnavailable.
 */
export async function quoteChat (sale: ChatSale): Promise<ChatQuote> {
  const { request, model, searches = false } = sale
  const standard = tokenPriceOf({ id: model.id, price: sale.price })
  const requested = tierPrice(sale, sale.tier)
  const searchNano = searches ? promptsOf(request) * maxSearchesNano(sale) : 0
  if (searchNano === 0 && costsNothing(standard) && (requested === null || costsNothing(requested))) {
    return toQuote(sale, standard, { maxNano: 0, outputLimit: null, held: null })
  }
  const prices = { standard, requested, searchNano }
  return quoteWith(sale, prices, outputLimitOf(request) === null ? await sale.means() : noMeans)
}

/** The prices of the tokens, at the standard tier and the one asked for, and of the searches. */
interface Prices { standard: TokenPrice, requested: TokenPrice | null, searchNano: number }

function quoteWith (
  sale: ChatSale, { standard, requested, searchNano }: Prices, means: AccountMeans
): ChatQuote {
  const { request, prompt, model, limits, lengths } = sale
  const { searches = false, longCache = false, thoughtTokens = 0 } = sale
  const ceilingNano = sale.ceilingNano == null ? null : sale.ceilingNano - searchNano
  const input = {
    request,
    prompt,
    limits,
    price: standard,
    searches,
    longCache,
    thoughtTokens,
    means,
    expectedTokens: lengths.expected(model.id),
    usualTokens: lengths.usual(model.id),
    ceilingNano
  }
  const usual = maxCost(input)
  // A provider may serve the standard tier instead, which its response says.
  const most = requested === null ? usual : greater(usual, maxCost({ ...input, price: requested }))
  const { amountNano, outputLimit, outputTokens: tokens } = most
  const maxNano = Math.min(amountNano + searchNano, Number.MAX_SAFE_INTEGER)
  const held: HeldOutput = {
    tokens, estimate: (request, report) => estimateWithin(request, report, limits, tokens)
  }
  return toQuote(sale, standard, { maxNano, outputLimit, held })
}

function toQuote (sale: ChatSale, standard: TokenPrice, bounds: Omit<ChatQuote, 'chargeFor'>): ChatQuote {
  const { maxNano } = bounds
  const terms = { standard, maxNano }
  const { bestPrice = null } = sale
  return {
    ...bounds,
    async chargeFor (report, cost = null) {
      const charge = await chargeFor(sale, { ...terms, cost }, report)
      return bestPrice === null ? charge : withSavings(charge, bestPrice)
    }
  }
}

/** Adds how much more the same tokens would have cost at another price. */
function withSavings (charge: Charge, bestPrice: TokenPrice): Charge {
  const { prompt = 0, completion = 0, ...more } = charge.usage
  const bestNano = tokenCostNano({ ...more, prompt, completion }, bestPrice)
  return { ...charge, savedNano: bestNano - charge.amountNano }
}

function greater (one: MaxCost, other: MaxCost): MaxCost {
  const limits = [one.outputLimit, other.outputLimit].filter(limit => limit !== null)
  return {
    amountNano: Math.max(one.amountNano, other.amountNano),
    outputTokens: Math.min(one.outputTokens, other.outputTokens),
    outputLimit: limits.length === 0 ? null : Math.min(...limits)
  }
}

function tierPrice ({ price }: ChatSale, tier: string | null | undefined): TokenPrice | null {
  return price === null || tier == null ? null : serviceTierPriceOf(price, tier)
}

/** The price of the most searches for one prompt. */
function maxSearchesNano ({ price }: ChatSale): number {
  return (price?.maxSearches ?? 1) * (price?.searchNano ?? 0)
}

const noMeans: AccountMeans = { availableNano: 0, unspentNano: 0 }

/** What one call of a provider has used, and the service tier that it says it was served at. */
type Used = Pick<StreamReport, 'serviceTier'> & { usage: Usage }

interface Terms { standard: TokenPrice, maxNano: number, cost: Price | null }

/**
 * Charges the final usage; without it, the latest count and an estimate of what came after it. An estimate
 * raises the charge to what is held at most, because it may be wrong.
 */
async function chargeFor (
  sale: ChatSale, { standard, maxNano, cost }: Terms, report: StreamReport
): Promise<Charge> {
  const { request, model, limits, lengths } = sale
  const calls = report.calls ?? [{ request, report }]
  const counted: Used[] = []
  let isEstimated = false
  for (const { report: { usage, delivered, serviceTier } } of calls) {
    if (usage !== null) counted.push({ usage, serviceTier })
    if (usage === null || !delivered.isEmpty) isEstimated = true
  }
  const costNano = (used: Used): number => callCostNano(sale, standard, used)
  if (!isEstimated) {
    const isPartial = calls.some(({ report }) => report.isPartial)
    if (outputLimitOf(request) === null && !isPartial) {
      for (const { usage } of counted) lengths.record(model.id, usage.completion / (request.n ?? 1))
    }
    return withCosts(toCharge(counted, costNano, isPartial), sale, cost, counted)
  }
  const estimates = await Promise.all(calls.map(async ({ request, report }): Promise<Used> => {
    return { usage: await estimateWithin(request, report, limits), serviceTier: report.serviceTier }
  }))
  const charge = withCosts(toCharge(estimates, costNano, true), sale, cost, estimates)
  const countedNano = sumOf(counted, costNano)
  if (report.mayCostMore === true) charge.mayCostMore = true
  const amountNano = Math.max(countedNano, Math.min(charge.amountNano, maxNano))
  return { ...charge, isUsageEstimated: true, amountNano }
}

/** The cost of one call, at the price of the tier that served it, with its searches. */
function callCostNano (sale: ChatSale, standard: TokenPrice, { usage, serviceTier }: Used): number {
  const requested = isStandard(serviceTier) ? null : tierPrice(sale, sale.tier)
  const price = tierPrice(sale, serviceTier) ?? requested ?? standard
  const { searches } = usage
  const searchNano = searches === undefined
    ? sale.searches === true ? maxSearchesNano(sale) : 0
    : searches * (sale.price?.searchNano ?? 0)
  return Math.min(tokenCostNano(usage, price) + searchNano, Number.MAX_SAFE_INTEGER)
}

/** Whether a provider says that it has served a request at its standard price. */
function isStandard (serviceTier: string | null): boolean {
  return serviceTier === 'default' || serviceTier === 'standard' || serviceTier === 'on_demand'
}

/** The charge for the usage of each call; a long prompt has the price of its tier. */
function toCharge (calls: readonly Used[], costNano: (used: Used) => number, estimated: boolean): Charge {
  const [only, ...more] = calls
  if (only !== undefined && more.length === 0) {
    return { amountNano: costNano(only), usage: countsOf(only.usage), estimated }
  }
  const usage: Record<string, number> = { prompt: 0, completion: 0 }
  for (const call of calls) {
    for (const [name, count] of Object.entries(countsOf(call.usage))) usage[name] = (usage[name] ?? 0) + count
  }
  return { amountNano: sumOf(calls, costNano), usage, estimated }
}

function sumOf (calls: readonly Used[], costNano: (used: Used) => number): number {
  return Math.min(calls.reduce((sum, call) => sum + costNano(call), 0), Number.MAX_SAFE_INTEGER)
}

/** Adds what the operator pays: by the cost price, and as the provider reports it. */
function withCosts (charge: Charge, sale: ChatSale, cost: Price | null, calls: readonly Used[]): Charge {
  if (calls[0]?.usage.costNano !== undefined) {
    const reportedNano = reportedSum(calls.map(({ usage }) => usage))
    if (reportedNano !== undefined) charge.reportedNano = reportedNano
  }
  if (cost === null || cost.inputPico === null || cost.outputPico === null) return charge
  const standard = tokenPriceOf({ id: sale.model.id, price: cost })
  const ofOperator = { ...sale, price: cost }
  charge.costNano = sumOf(calls, call => callCostNano(ofOperator, standard, call))
  return charge
}

function countsOf (usage: Usage): Record<string, number> {
  const { prompt, completion, cachedRead, cacheWrite, cacheWrite1h } = usage
  const { reasoning, audioInput, audioOutput, searches } = usage
  const counts: Record<string, number> = { prompt, completion }
  if (cachedRead !== undefined) counts.cachedRead = cachedRead
  if (cacheWrite !== undefined) counts.cacheWrite = cacheWrite
  if (cacheWrite1h !== undefined) counts.cacheWrite1h = cacheWrite1h
  if (reasoning !== undefined) counts.reasoning = reasoning
  if (audioInput !== undefined) counts.audioInput = audioInput
  if (audioOutput !== undefined) counts.audioOutput = audioOutput
  if (searches !== undefined) counts.searches = searches
  return counts
}
