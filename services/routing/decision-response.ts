import type { RoutingDecision } from '../../schemas/openai/routing.ts'
import { usdFromNano } from '../shared/money.ts'
import type { Decision } from './types.ts'

/** A decision as clients and operators see it: the whole table, without the text of the conversation. */
export function decisionAnswer (decision: Decision): RoutingDecision {
  const possible = decision.scored.map(({ id, quality, costNano, latencyMs, score }) => ({
    model: id,
    quality: rounded(quality),
    cost_usd: usdFromNano(costNano),
    latency_ms: Math.round(latencyMs),
    score: rounded(score),
    excluded_by: null
  }))
  const others = decision.excluded().map(({ model, constraint }) => ({
    model, quality: null, cost_usd: null, latency_ms: null, score: null, excluded_by: constraint
  }))
  return {
    object: 'routing.decision',
    model: decision.candidates[0]?.id ?? '',
    policy: decision.policy,
    reason: decision.reason,
    confidence: decision.confidence,
    candidates: [...possible, ...others],
    domain: decision.domain,
    signals: { ...decision.signals },
    sticky: decision.isSticky,
    weights_version: decision.weightsVersion,
    us: decision.tookUs
  }
}

/** Enough digits that two candidates never look the same that are not. */
function rounded (value: number): number {
  return Number(value.toFixed(9))
}
