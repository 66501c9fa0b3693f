import type { RoutingDecision } from '../../schemas/openai/routing.ts'
import { usdFromNano, usdText } from '../shared/money.ts'
import type { Exclusion } from './constraints.ts'
import type { RankedModel } from './rank.ts'
import type { RouterDecision } from './types.ts'

const noLevel = { basis: null, source: null, as_of: null }

/** Rows that are shown unless the request lists the models to compare. */
const usualRows = 5
/** Two digits say how much a prediction is worth; to compare listed models, more are needed. */
const digits = { usual: 2, compared: 4 }

/**
 * Converts a decision to the body of `POST /v1/routing/decisions`: one sentence and the first five models;
 * all of them, with more digits, if the request lists the models to compare.
 */
export function toDecisionResponse (decision: RouterDecision, isListed: boolean): RoutingDecision {
  const { ranked, best } = decision
  const decimals = isListed ? digits.compared : digits.usual
  const possible = ranked.map(({ id, quality, level, costNano, latencyMs, score }) => ({
    model: id,
    quality: rounded(quality, decimals),
    basis: level?.basis ?? null,
    source: level?.source ?? null,
    as_of: level?.date ?? null,
    cost_usd: usdFromNano(costNano),
    latency_ms: Math.round(latencyMs),
    score: rounded(score, 4),
    excluded_by: null
  }))
  const excluded = decision.excluded()
  const all = [...possible, ...excluded.map(({ model, constraint }) => ({
    model, quality: null, ...noLevel, cost_usd: null, latency_ms: null, score: null, excluded_by: constraint
  }))]
  const rows = isListed ? all : all.slice(0, usualRows)
  const [chosen = best] = ranked
  return {
    object: 'routing.decision',
    model: chosen.id,
    policy: decision.policy,
    reason: decision.reason,
    summary: summaryOf(decision, chosen, excluded),
    confidence: decision.confidence,
    saved_usd: usdFromNano(best.costNano - chosen.costNano),
    candidates: rows,
    omitted: all.length - rows.length,
    domain: decision.domain,
    task: decision.task,
    signals: { ...decision.signals },
    sticky: decision.isSticky,
    weights_version: decision.weightsVersion,
    us: decision.tookUs
  }
}

const reasons: Readonly<Record<RouterDecision['reason'], string>> = {
  only_candidate: 'the only model that can serve this request',
  best_balance: 'the best balance of quality and cost',
  cheapest_good_enough: 'the cheapest that is good enough',
  best_quality: 'the best quality',
  fastest_good_enough: 'the fastest that is good enough',
  conversation: 'the model of this conversation',
  tool_loop: 'the model that called these tools'
}

/** One sentence: the model, why, and what it costs beside the best one. */
function summaryOf (
  { policy, reason, best, ranked, domain }: RouterDecision,
  chosen: RankedModel, excluded: readonly Exclusion[]
): string {
  const { id, quality, costNano } = chosen
  const savedNano = best.costNano - costNano
  const beside = best.id === id
    ? ''
    : `, $${usdText(Math.abs(savedNano))} ${savedNano < 0 ? 'more' : 'less'} than ${best.id} ` +
      `with quality ${best.quality.toFixed(digits.usual)}`
  return `${policy} chooses ${id} as ${reasons[reason]} for ${domain}, with quality ${quality.toFixed(digits.usual)} at ` +
    `about $${usdText(costNano)}${beside}; ${ranked.length - 1} other models could answer, ${excluded.length} cannot.`
}

function rounded (value: number, decimals: number): number {
  return Number(value.toFixed(decimals))
}
