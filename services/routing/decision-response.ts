import type { RoutingDecision } from '../../schemas/openai/routing.ts'
import { usdFromNano } from '../shared/money.ts'
import type { RouterDecision } from './types.ts'

/** Converts a decision to the body of `POST /v1/routing/decisions`: every model with its estimates. */
export function toDecisionResponse (decision: RouterDecision): RoutingDecision {
  const possible = decision.ranked.map(({ id, quality, costNano, latencyMs, score }) => ({
    model: id,
    quality: rounded(quality),
    cost_usd: usdFromNano(costNano),
    latency_ms: Math.round(latencyMs),
    score: rounded(score),
    excluded_by: null
  }))
  const excluded = decision.excluded().map(({ model, constraint }) => ({
    model, quality: null, cost_usd: null, latency_ms: null, score: null, excluded_by: constraint
  }))
  return {
    object: 'routing.decision',
    model: decision.candidates[0]?.id ?? '',
    policy: decision.policy,
    reason: decision.reason,
    confidence: decision.confidence,
    candidates: [...possible, ...excluded],
    domain: decision.domain,
    signals: { ...decision.signals },
    sticky: decision.isSticky,
    weights_version: decision.weightsVersion,
    us: decision.tookUs
  }
}

/** Keeps enough digits to tell any two candidates apart. */
function rounded (value: number): number {
  return Number(value.toFixed(9))
}
