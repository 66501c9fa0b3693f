import { tokenCostNano } from '../billing/token-price.ts'
import type { ModelEstimate } from './rank.ts'
import type { Effort, RequestFeatures } from './request-features.ts'
import type { PoolModel } from './model-pool.ts'
import type { LevelBasis } from './scoring/published-levels.ts'
import { predictQuality } from './scoring/quality.ts'
import type { TextAnalysis } from './scoring/analyze-text.ts'
import type { RouterWeights } from './scoring/weights.ts'
import type { DeploymentStates } from './types.ts'

/** An estimate, the tokens of an answer, and the most that the request may cost, in nano-USD. */
export interface BoundedEstimate extends ModelEstimate { outputTokens: number, maxCostNano: number }

/** The input common to the estimates of all models for one request. */
export interface EstimateContext {
  request: RequestFeatures
  text: TextAnalysis
  deployments: DeploymentStates
  weights: RouterWeights
}

/** The length of an answer with its thoughts, by the effort asked for, as a factor on the usual one. */
const lengthByEffort: Readonly<Record<Effort, number>> = {
  none: 0.3, minimal: 0.4, low: 0.6, medium: 1, high: 2, xhigh: 3, max: 4
}
/** How much longer than estimated an answer may get when the client sets no limit, as a factor. */
const maxLengthFactor = 3
/** Optimistic, so that a model without recent measurements is tried, and tried again after it was slow. */
const unmeasuredSpeed = { firstTokenMs: 300, tokensPerSecond: 150 }
const unknownBasis: LevelBasis = { basis: 'guessed', source: null, date: null }
const unavailableMs = 60_000

/**
 * Estimates quality, cost and latency of a model for a request; `cachedTokens` of the prompt are in its
 * provider's cache. Of several deployments the dearest and the fastest count.
 */
export function estimateModel (
  { model, profile, prices }: PoolModel,
  { request, text, deployments, weights }: EstimateContext,
  cachedTokens: number
): BoundedEstimate {
  const limit = Math.min(request.maxTokens ?? Infinity, model.maxOutput ?? Infinity)
  const thought = profile.isReasoning ? lengthByEffort[request.effort ?? 'medium'] : 1
  const outputTokens = Math.min(text.outputTokens * profile.verbosity * thought, limit)
  const maxOutputTokens = request.maxTokens ?? Math.min(outputTokens * maxLengthFactor, limit)
  let estimatedNano = 0
  let maxCostNano = 0
  for (const price of prices) {
    const cost = (output: number, cachedRead: number) => tokenCostNano(
      { prompt: request.promptTokens, completion: Math.ceil(output) * request.replies, cachedRead }, price)
    estimatedNano = Math.max(estimatedNano, cost(outputTokens, cachedTokens))
    maxCostNano = Math.max(maxCostNano, cost(maxOutputTokens, 0))
  }
  return {
    id: model.id,
    level: profile.bases[text.mainDomain] ?? unknownBasis,
    quality: predictQuality(text, profile, weights),
    costNano: estimatedNano,
    outputTokens,
    maxCostNano,
    latencyMs: estimateLatency({ model, profile }, outputTokens, deployments)
  }
}

/** Milliseconds until the whole answer has arrived from the fastest deployment that is available. */
function estimateLatency (
  { model, profile }: Pick<PoolModel, 'model' | 'profile'>, outputTokens: number, deployments: DeploymentStates
): number {
  const seed = model.speed ?? profile.seed ?? unmeasuredSpeed
  let leastMs = Infinity
  for (const deployment of model.deployments) {
    if (!deployments.isAvailable(deployment)) continue
    const { provider, model: name } = deployment
    const { firstTokenMs, tokensPerSecond } = deployments.expected(provider, name, seed)
    leastMs = Math.min(leastMs, firstTokenMs + outputTokens / Math.max(0.1, tokensPerSecond) * 1000)
  }
  return leastMs === Infinity ? unavailableMs : leastMs
}
