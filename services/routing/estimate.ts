import { costNano } from '../billing/token-price.ts'
import type { Expectation } from './rank.ts'
import type { Conversation } from './conversation.ts'
import type { Entry } from './pool.ts'
import { chance, domainLevel, qualityOf } from './scoring/quality.ts'
import type { Understanding } from './scoring/understand.ts'
import type { Weights } from './scoring/weights.ts'
import type { Deployments } from './types.ts'

/** An expectation beside the most that the request may cost, in nano-USD. */
export interface Bounded extends Expectation { highestNano: number }

/** What the expectations of all candidates for one request rest on. */
export interface Outlook {
  request: Conversation
  text: Understanding
  deployments: Deployments
  weights: Weights
}

/** How much longer than expected an answer may get when the client sets no limit. */
const generous = 3
/**
 * What is assumed of the speed of a model of which nothing is known, or nothing any more: that it is fast, so
 * that it is tried, and tried again after it was slow.
 */
const untried = { firstTokenMs: 300, tokensPerSecond: 150 }
/** What a model is taken to need that nobody can call now. */
const unreachableMs = 60_000

/**
 * Puts a model's quality, cost and speed on a request into figures; `cachedTokens` of the prompt are in its
 * provider's cache. Of several places where it runs the dearest and the fastest count.
 */
export function expect (
  entry: Entry, { request, text, deployments, weights }: Outlook, cachedTokens: number
): Bounded {
  const { model, profile, prices } = entry
  const most = Math.min(request.maxTokens ?? Infinity, model.maxOutput ?? Infinity)
  const outputTokens = Math.min(text.outputTokens * profile.verbosity, most)
  const longest = request.maxTokens ?? Math.min(outputTokens * generous, most)
  let expectedNano = 0
  let highestNano = 0
  for (const price of prices) {
    const cost = (output: number, cachedRead: number) => costNano(
      { prompt: request.promptTokens, completion: Math.ceil(output) * request.answers, cachedRead }, price)
    expectedNano = Math.max(expectedNano, cost(outputTokens, cachedTokens))
    highestNano = Math.max(highestNano, cost(longest, 0))
  }
  return {
    id: model.id,
    quality: qualityOf(text, profile, weights),
    priorQuality: chance(domainLevel(text, profile)),
    costNano: expectedNano,
    highestNano,
    latencyMs: latencyOf(entry, outputTokens, deployments)
  }
}

/** Until the whole answer is there, at the fastest place that works. */
function latencyOf ({ model, profile }: Entry, outputTokens: number, deployments: Deployments): number {
  const seed = model.speed ?? profile.seed ?? untried
  let least = Infinity
  for (const deployment of model.deployments) {
    if (!deployments.isAvailable(deployment)) continue
    const {
      firstTokenMs, tokensPerSecond
    } = deployments.expected(deployment.provider, deployment.model, seed)
    least = Math.min(least, firstTokenMs + outputTokens / Math.max(0.1, tokensPerSecond) * 1000)
  }
  return least === Infinity ? unreachableMs : least
}
