import type { LevelBasis } from './scoring/published-levels.ts'
import type { Tradeoff } from './policies.ts'

/** Estimated quality, cost and latency of one model for one request. */
export interface ModelEstimate {
  id: string
  /** Chance of a good answer, 0 to 1. */
  quality: number
  /** What the quality rests on in the domain of the request; absent: not known. */
  level?: LevelBasis
  /** An integer. */
  costNano: number
  latencyMs: number
}

/** An estimate and its score under a policy. */
export interface RankedModel extends ModelEstimate { score: number }

/** Where the logarithms of cost and latency are 0: $0.0001 and 100 ms. */
const fixed = { costNano: 100_000, latencyMs: 100 }
/** Whatever costs or takes less counts as this, because the logarithm of 0 has no end. */
const least = { costNano: 1000, latencyMs: 1 }
/** Steps of quality in 1: far above the rounding errors of a score. */
const qualitySteps = 1e6

/**
 * Ranks models, best first, by quality − λ·log10(cost / $0.0001) − μ·log10(latency / 100 ms). Ties go to the
 * cheaper model, then by id. Two properties follow:
 *
 * 1. A score depends on its own model alone, and the order is total. So the first of a pool is the first of
 *    every part of the pool that contains it: a model that is not chosen changes no choice.
 * 2. Let a be the choice under λ₁ and b that under λ₂ > λ₁, with the same μ, among the same models. With
 *    x = log10(cost) and u = quality − μ·log10(latency), u_a − λ₁x_a ≥ u_b − λ₁x_b because a is the best
 *    under λ₁, and u_b − λ₂x_b ≥ u_a − λ₂x_a because b is under λ₂. Their sum is (λ₂ − λ₁)(x_a − x_b) ≥ 0, so
 *    b costs no more; then the first gives u_a − u_b ≥ λ₁(x_a − x_b) ≥ 0. For equal x, both make u equal, and
 *    both policies break the tie alike. Without μ, u is the quality: in cost and in quality `auto:cost` ≤
 *    `auto` ≤ `auto:quality`. Rounding does not change this: costs are integers and qualities are on a grid,
 *    and both differ by more than the error of a sum.
 */
export function rankModels (models: readonly ModelEstimate[], tradeoff: Tradeoff): RankedModel[] {
  return models.map(model => {
    const quality = Math.round(model.quality * qualitySteps) / qualitySteps
    return { ...model, quality, score: scoreOf({ ...model, quality }, tradeoff) }
  }).sort(byScore)
}

/** The model of the best quality, the cheapest of several. Throws RangeError for none. */
export function bestOf (ranked: readonly RankedModel[]): RankedModel {
  let best = ranked[0]
  if (best === undefined) throw new RangeError('There is no model to compare with')
  for (const one of ranked) {
    const isBetter = one.quality - best.quality || best.costNano - one.costNano
    if (isBetter > 0) best = one
  }
  return best
}

function scoreOf ({ quality, costNano, latencyMs }: ModelEstimate, { cost, latency }: Tradeoff): number {
  const tenfoldCost = Math.log10(Math.max(least.costNano, costNano) / fixed.costNano)
  const tenfoldMs = Math.log10(Math.max(least.latencyMs, latencyMs) / fixed.latencyMs)
  return quality - cost * tenfoldCost - latency * tenfoldMs
}

function byScore (one: RankedModel, other: RankedModel): number {
  return other.score - one.score || one.costNano - other.costNano || (one.id < other.id ? -1 : 1)
}
