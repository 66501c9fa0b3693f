import { isObject, type JsonObject } from '../shared/json.ts'

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
