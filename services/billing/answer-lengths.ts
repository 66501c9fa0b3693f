import { LRUCache } from 'lru-cache'

/** Counts the answers of one model by their length: `weights[i]` those from 2^i to 2^(i+1) tokens. */
interface Histogram {
  answers: number
  weights: Float64Array
  total: number
  /** What the next answer weighs: later ones weigh more, so that nothing has to be decayed. */
  weight: number
}

/** Clients can make up names of models. */
const maxModels = 5000
const buckets = 18
/** An answer weighs half as much as one that many later. */
const halfLife = 500
const growth = 2 ** (1 / halfLife)
const maxWeight = 1e100
/** Fewer answers say too little. */
const minAnswers = 20
const percentile = 0.99
/** How much longer than nearly all others an answer may be. */
const headroom = 4
/** What to allow before there are enough answers, and the least to allow ever. */
const usualTokens = 4096
const leastTokens = 2048

export type AnswerLengths = ReturnType<typeof createAnswerLengths>

/** Creates this node's measurement of how long each model's answers are when the client sets no limit. */
export function createAnswerLengths () {
  const models = new LRUCache<string, Histogram>({ max: maxModels })

  return {
    record (model: string, tokens: number): void {
      if (!(tokens >= 1)) return
      const known = models.get(model) ?? emptyHistogram()
      models.set(model, known)
      const bucket = Math.min(Math.floor(Math.log2(tokens)), buckets - 1)
      known.answers++
      known.weights[bucket] = (known.weights[bucket] ?? 0) + known.weight
      known.total += known.weight
      known.weight *= growth
      if (known.weight > maxWeight) rescale(known)
    },

    /** The tokens that an answer may need: several times as many as 99 of 100 answers had. */
    expected (model: string): number {
      const known = models.get(model)
      if (known === undefined || known.answers < minAnswers) return usualTokens
      let weight = 0
      const bucket = known.weights.findIndex(one => (weight += one) >= known.total * percentile)
      return Math.max(leastTokens, headroom * 2 ** (bucket + 1))
    }
  }
}

function emptyHistogram (): Histogram {
  return { answers: 0, weights: new Float64Array(buckets), total: 0, weight: 1 }
}

function rescale (histogram: Histogram): void {
  histogram.weights = histogram.weights.map(one => one / histogram.weight)
  histogram.total /= histogram.weight
  histogram.weight = 1
}
