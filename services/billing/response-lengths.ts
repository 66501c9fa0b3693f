import { createLru } from '../shared/lru.ts'
import { unknownUsual } from './max-cost.ts'

/** Counts the completions of one model by their length: `weights[i]` those from 2^i to 2^(i+1) tokens. */
interface Histogram {
  responses: number
  weights: Float64Array
  total: number
  /** What the next completion weighs: later ones weigh more, so that nothing has to be decayed. */
  weight: number
}

/** Clients can make up names of models. */
const maxModels = 5000
const buckets = 18
/** A completion weighs half as much as one that many later. */
const halfLife = 500
const growth = 2 ** (1 / halfLife)
const maxWeight = 1e100
/** Fewer completions say too little. */
const minResponses = 20
/** How much longer than nearly all others a completion may be. */
const headroom = 4
/** What to allow before there are enough completions, and the least to allow ever. */
const unknownTokens = 4096
const leastTokens = 2048

export type ResponseLengths = ReturnType<typeof createResponseLengths>

/** Creates this node's measurement of how long each model's completions are when the client sets no limit. */
export function createResponseLengths () {
  const models = createLru<Histogram>(maxModels)

  return {
    record (model: string, tokens: number): void {
      if (!(tokens >= 1)) return
      const known = models.get(model) ?? emptyHistogram()
      if (known.responses === 0) models.set(model, known)
      const bucket = Math.min(Math.floor(Math.log2(tokens)), buckets - 1)
      known.responses++
      known.weights[bucket] = (known.weights[bucket] ?? 0) + known.weight
      known.total += known.weight
      known.weight *= growth
      if (known.weight > maxWeight) rescale(known)
    },

    /** The tokens that a completion may need: several times as many as 99 of 100 had. */
    expected (model: string): number {
      const most = longestOf(models.get(model), 0.99)
      return most === null ? unknownTokens : Math.max(leastTokens, headroom * most)
    },

    /** The tokens with which nine of ten completions are whole. */
    usual (model: string): number {
      return longestOf(models.get(model), 0.9) ?? unknownUsual
    }
  }
}

/** A bound of the tokens of a share of the completions; null while there are too few. */
function longestOf (known: Histogram | undefined, share: number): number | null {
  if (known === undefined || known.responses < minResponses) return null
  let weight = 0
  return 2 ** (known.weights.findIndex(one => (weight += one) >= known.total * share) + 1)
}

function emptyHistogram (): Histogram {
  return { responses: 0, weights: new Float64Array(buckets), total: 0, weight: 1 }
}

function rescale (histogram: Histogram): void {
  histogram.weights = histogram.weights.map(one => one / histogram.weight)
  histogram.total /= histogram.weight
  histogram.weight = 1
}
