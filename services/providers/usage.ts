import { isObject, type JsonObject } from '../shared/json.ts'
import type { Usage } from './report.ts'

/** No call has more tokens: a larger count is wrong, and the sums of reports stay exact. */
const maxTokens = 2 ** 32

/** A count of tokens as a provider reports it; undefined unless it is a whole number that can be one. */
export function tokenCount (value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxTokens
  return isCount ? value : undefined
}

/** A reported cost, rounded up to nano-USD; null unless it is a number that the ledger can hold. */
export function reportedCost (value: unknown, nanoPerUnit: number): number | null {
  if (typeof value !== 'number' || value < 0) return null
  // A decimal such as 0.1 is not exact in binary, and must not be rounded up for that.
  const nano = Math.ceil(Math.round(value * nanoPerUnit * 1000) / 1000)
  return Number.isSafeInteger(nano) ? nano : null
}

/** Reads the cost in the `usage` of an answer, in nano-USD; null if there is none that can be right. */
export type CostReader = (usage: JsonObject) => number | null

const nanoPerUsd = 1e9
const nanoPerTick = 0.1

/**
 * `cost` is in US dollars; with a key of the operator's own, it is OpenRouter's fee alone, and what the
 * provider behind it charges comes on top. Source: @openrouter/sdk 1.3.19, ChatUsage and CostDetails;
 * openrouter.ai/docs, usage accounting, November 2026.
 */
export const openRouterCost: CostReader = usage => {
  const fee = reportedCost(usage.cost, nanoPerUsd)
  if (usage.is_byok !== true || fee === null) return fee
  const details = isObject(usage.cost_details) ? usage.cost_details : {}
  const upstream = reportedCost(details.upstream_inference_cost, nanoPerUsd)
  return upstream === null ? null : Math.min(fee + upstream, Number.MAX_SAFE_INTEGER)
}

/** A tick is a ten-billionth of a dollar. Source: docs.x.ai, "Cost Tracking", November 2026. */
export const xaiCost: CostReader = usage => reportedCost(usage.cost_in_usd_ticks, nanoPerTick)

/** In US dollars. Source: @perplexity-ai/perplexity_ai 0.38.5, CostOutput. */
export const perplexityCost: CostReader = ({ cost }) =>
  isObject(cost) ? reportedCost(cost.total_cost, nanoPerUsd) : null

/** Token counts in an OpenAI answer or chunk, at `path` or in `usage`; null when there are none. */
export function readUsage (body: JsonObject, path: readonly string[] = ['usage']): Usage | null {
  const found = valueAt(body, path)
  const usage = isObject(found) ? found : body.usage
  if (!isObject(usage)) return null
  const total = tokenCount(usage.total_tokens)
  const prompt = tokenCount(usage.prompt_tokens) ?? rest(total, usage.completion_tokens)
  const completion = tokenCount(usage.completion_tokens) ?? rest(total, usage.prompt_tokens)
  // One count alone is not enough: the other would be free.
  if (prompt === undefined || completion === undefined) return null
  const promptDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const completionDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  return {
    prompt,
    completion,
    cachedRead: tokenCount(promptDetails.cached_tokens) ?? tokenCount(usage.prompt_cache_hit_tokens),
    cacheWrite: tokenCount(promptDetails.cache_write_tokens),
    reasoning: tokenCount(completionDetails.reasoning_tokens),
    ...audioIn(promptDetails.audio_tokens, completionDetails.audio_tokens)
  }
}

/** The value at a path of keys; undefined if there is none. */
export function valueAt (body: JsonObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((found, key) => isObject(found) ? found[key] : undefined, body)
}

/** Most answers report zero audio tokens. */
function audioIn (input: unknown, output: unknown): Pick<Usage, 'audioInput' | 'audioOutput'> {
  const [audioInput, audioOutput] = [tokenCount(input), tokenCount(output)]
  return { ...(audioInput && { audioInput }), ...(audioOutput && { audioOutput }) }
}

function rest (total: number | undefined, other: unknown): number | undefined {
  const known = tokenCount(other)
  return total === undefined || known === undefined || known > total ? undefined : total - known
}
