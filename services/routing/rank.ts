import type { Tradeoff } from './policies.ts'

/** Estimated quality, cost and latency of one model for one request. */
export interface ModelEstimate {
  id: string
  /** Chance of a good answer, 0 to 1. */
  quality: number
  /** The same from the domain alone, without the text. */
  priorQuality: number
  costNano: number
  latencyMs: number
}

/** An estimate and its score under a policy. */
export interface RankedModel extends ModelEstimate { score: number }

/** Models below this share of the best quality are not good enough. */
const goodEnough = 0.65
/** Exceeds any other difference of scores, because weights are at most 100 each. */
const notGoodEnoughPenalty = 1000
/** A model that another one dominates in all three respects must be better by this to go first. */
const dominatedPenalty = 0.02

/**
 * Ranks models, best first: quality minus the weighted cost and latency, both as shares of the highest.
 * Models that are not good enough come last. With weights of 0 the score is the quality, so no other policy
 * puts a better model first. Ties are broken by cost, then by id, so the order is deterministic.
 */
export function rankModels (models: readonly ModelEstimate[], tradeoff: Tradeoff): RankedModel[] {
  let bestQuality = 0
  let highestCost = 0
  let longestMs = 0
  for (const { quality, costNano, latencyMs } of models) {
    bestQuality = Math.max(bestQuality, quality)
    highestCost = Math.max(highestCost, costNano)
    longestMs = Math.max(longestMs, latencyMs)
  }
  const perNano = highestCost > 0 ? tradeoff.cost / highestCost : 0
  const perMs = longestMs > 0 ? tradeoff.latency / longestMs : 0
  const front = perNano > 0 || perMs > 0 ? paretoFront(models) : []
  return models.map(model => {
    let score = model.quality - model.costNano * perNano - model.latencyMs * perMs
    if (isDominated(model, front)) score -= dominatedPenalty
    if (model.quality < bestQuality * goodEnough) score -= notGoodEnoughPenalty
    return { ...model, score }
  }).sort(byScore)
}

function byScore (one: RankedModel, other: RankedModel): number {
  return other.score - one.score || one.costNano - other.costNano || (one.id < other.id ? -1 : 1)
}

/** The models that no other dominates, found in one sweep from the cheapest up. */
function paretoFront (models: readonly ModelEstimate[]): ModelEstimate[] {
  const front: ModelEstimate[] = []
  for (const model of models.toSorted(byCost)) if (!isDominated(model, front)) front.push(model)
  return front
}

function byCost (one: ModelEstimate, other: ModelEstimate): number {
  return one.costNano - other.costNano || other.priorQuality - one.priorQuality ||
    one.latencyMs - other.latencyMs
}

function isDominated (model: ModelEstimate, front: readonly ModelEstimate[]): boolean {
  for (const other of front) {
    const quality = other.priorQuality - model.priorQuality
    const saved = model.costNano - other.costNano
    const sooner = model.latencyMs - other.latencyMs
    const isNoWorse = quality >= 0 && saved >= 0 && sooner >= 0
    if (isNoWorse && (quality > 0 || saved > 0 || sooner > 0)) return true
  }
  return false
}
