import type { Tradeoff } from './policies.ts'

/** What is expected of one model for one request. */
export interface Expectation {
  id: string
  /** Chance of a good answer, 0 to 1. */
  quality: number
  /** The same without a look at this very text. */
  priorQuality: number
  costNano: number
  latencyMs: number
}

/** An expectation and how much it is worth under a policy. */
export interface Scored extends Expectation { score: number }

/** A model this much less likely to answer well than the best, as a share of the best, is not good enough. */
const goodEnough = 0.65
/** What a model must be better by that is expected to be worse, dearer and slower than another one. */
const dominatedMargin = 0.02

/**
 * Orders the candidates, best first: quality less what its cost and latency are worth, both as shares of the
 * highest. What is far from good enough comes last. Where only quality counts the first is the one expected
 * to answer best, so no other policy expects a better answer. Equal scores go to the cheaper, then by
 * id, so that the same candidates always give the same order.
 */
export function rank (candidates: readonly Expectation[], tradeoff: Tradeoff): Scored[] {
  let bestQuality = 0
  let highestCost = 0
  let longest = 0
  for (const { quality, costNano, latencyMs } of candidates) {
    bestQuality = Math.max(bestQuality, quality)
    highestCost = Math.max(highestCost, costNano)
    longest = Math.max(longest, latencyMs)
  }
  const perNano = highestCost > 0 ? tradeoff.cost / highestCost : 0
  const perMs = longest > 0 ? tradeoff.latency / longest : 0
  const isGuarded = perNano > 0 || perMs > 0
  const front = isGuarded ? frontOf(candidates) : []
  return candidates.map(one => {
    let score = one.quality - one.costNano * perNano - one.latencyMs * perMs
    if (isDominated(one, front)) score -= dominatedMargin
    if (one.quality < bestQuality * goodEnough) score -= notGoodEnough
    return { ...one, score }
  }).sort(byScore)
}

/** More than any score can differ by otherwise: weights are at most 100 each. */
const notGoodEnough = 1000

function byScore (one: Scored, other: Scored): number {
  return other.score - one.score || one.costNano - other.costNano || (one.id < other.id ? -1 : 1)
}

/** Those that no other candidate beats in all three respects; found in one sweep from the cheapest up. */
function frontOf (candidates: readonly Expectation[]): Expectation[] {
  const front: Expectation[] = []
  for (const one of candidates.toSorted(fromCheapest)) if (!isDominated(one, front)) front.push(one)
  return front
}

function fromCheapest (one: Expectation, other: Expectation): number {
  return one.costNano - other.costNano || other.priorQuality - one.priorQuality ||
    one.latencyMs - other.latencyMs
}

function isDominated (one: Expectation, front: readonly Expectation[]): boolean {
  for (const other of front) {
    const quality = other.priorQuality - one.priorQuality
    const saved = one.costNano - other.costNano
    const sooner = one.latencyMs - other.latencyMs
    const isNoWorse = quality >= 0 && saved >= 0 && sooner >= 0
    if (isNoWorse && (quality > 0 || saved > 0 || sooner > 0)) return true
  }
  return false
}
