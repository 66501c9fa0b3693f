import { requestedTokens } from '../text/asked-length.ts'
import { readTask, type Task, type TaskReading } from '../text/task.ts'
import { createTextReader, type TextCounts } from '../text/reader.ts'
import { signalCount, signalNames, writeSignals } from '../text/signals.ts'
import { setDomain, writeDomains, type ConversationFacts } from './domains.ts'
import { domains, type RouterWeights } from './weights.ts'

/** The analysis of a text. Its arrays are reused for the next text. */
export interface TextAnalysis {
  readonly signals: Float32Array
  /** 0 for traits of kinds that the text is not like. */
  readonly traits: Float64Array
  /** Similarity to each kind of the training data; sums to 1. */
  readonly kinds: Float32Array
  /** Share of each domain; sums to 1. */
  readonly domains: Float32Array
  /** The index of the domain with the largest share. */
  mainDomain: number
  /** Similarity to the training data, 0 to 1. */
  familiarity: number
  /** Difficulty compared with other texts, as the logarithm of a factor on failures. */
  difficulty: number
  outputTokens: number
  task: Task
  /** How hard what is asked is, as the logarithm of a factor; 0 as the training data. */
  demand: number
  /** What `demand` is a factor on; of the odds of failure, it stands in the place of what was learned. */
  factorOn: TaskReading['factorOn']
}

/** Signals are clamped to this many standard deviations. */
const maxDeviations = 2.5
/** Scale of the standardized signals. */
const signalScale = 0.3
/** The median and the 90th percentile of the distance of held-out texts to the typical ones. */
const near = 1.1
const far = 1.5
const outputBounds = { least: 24, most: 4000 }

/**
 * The signals of difficult texts. Chosen by hand with equal weights, because learned or finer weights do not
 * generalize to other kinds of text; see tools/routing/README.md.
 */
const difficultSignals = [
  'length', 'sentences', 'numbers', 'char:space', 'words:steps', 'words:how', 'words:first', 'words:quantity',
  'words:format', 'words:compose', 'words:supposition'
].map(name => signalNames.indexOf(name))
const difficultyBySignal = 0.13 / signalScale
const difficultyByDomain = { code: 0.8 }
/** Per doubling. */
const difficultyByCount = { turns: 0.2, tools: 0.2 }
const mostDifficult = 1.5

/** Creates a function that analyzes a text without allocations that grow with it. */
export function createTextAnalyzer (
  weights: RouterWeights
): (text: string, facts: ConversationFacts) => TextAnalysis {
  const reader = createTextReader()
  const raw = new Float32Array(signalCount)
  const nearest = new Float32Array(weights.kinds.length)
  const wanted = new Int32Array(weights.traitCount)
  const found: TextAnalysis = {
    signals: new Float32Array(signalCount),
    traits: new Float64Array(weights.traitCount),
    kinds: new Float32Array(weights.kinds.length),
    domains: new Float32Array(domains.length),
    mainDomain: 0,
    familiarity: 0,
    difficulty: 0,
    outputTokens: 0,
    task: 'other',
    demand: 0,
    factorOn: 'failures'
  }

  return (text, facts) => {
    const reading = reader.read(text)
    writeSignals(reading, raw)
    standardise(raw, weights, found.signals)
    writeKinds(found, weights, nearest)
    writeTraits(found, reading, weights, wanted)
    writeDomains(raw, reading, facts, found.domains)
    const { options, numbers, sentences } = reading
    const { task, difficulty, factorOn } = readTask(text, {
      options, numbers, sentences, tools: facts.tools, followUp: facts.followUp
    })
    found.task = task
    found.demand = difficulty
    found.factorOn = factorOn
    if (task === 'word_problem' && factorOn === 'odds') setDomain('math', found.domains)
    found.mainDomain = found.domains.indexOf(Math.max(...found.domains))
    found.difficulty = difficultyOf(found, facts)
    found.outputTokens = requestedTokens(text) ?? outputTokensOf(found.signals, weights)
    return found
  }
}

/** Writes z-scores of the signals, clamped and scaled, into `out`. */
export function standardise (
  raw: Float32Array, { mean, spread }: Pick<RouterWeights, 'mean' | 'spread'>, out: Float32Array
): void {
  for (let at = 0; at < signalCount; at++) {
    const z = ((raw[at] as number) - (mean[at] as number)) / (spread[at] as number)
    out[at] = Math.max(-maxDeviations, Math.min(maxDeviations, z)) * signalScale
  }
}

/** Sublinear term frequency of a bucket. */
export function tfOf (count: number): number {
  return count === 1 ? 1 : 1 + Math.log(count)
}

/** Writes the traits of the kinds that the text is like; the others are 0. */
function writeTraits (
  { signals, traits, kinds, familiarity }: TextAnalysis,
  { buckets, counts, size }: TextCounts,
  weights: RouterWeights,
  wanted: Int32Array
): void {
  const { traitCount, traitKinds, traitConstants, bucketTraits, bucketScale, signalTraits } = weights
  traits.fill(0)
  if (familiarity === 0) return
  let many = 0
  for (let trait = 0; trait < traitCount; trait++) {
    if ((kinds[traitKinds[trait] as number] as number) > 0) wanted[many++] = trait
  }
  let norm = 0
  for (let at = 0; at < size; at++) {
    const bucket = buckets[at] as number
    const tf = tfOf(counts[bucket] as number)
    norm += tf * tf
    const from = bucket * traitCount
    for (let one = 0; one < many; one++) {
      const trait = wanted[one] as number
      traits[trait] = (traits[trait] as number) + tf * (bucketTraits[from + trait] as number)
    }
  }
  const scale = 1 / Math.sqrt(norm || 1)
  for (let one = 0; one < many; one++) {
    const trait = wanted[one] as number
    let sum = (traits[trait] as number) * scale * (bucketScale[trait] as number)
    sum += traitConstants[trait] as number
    for (let signal = 0; signal < signalCount; signal++) {
      sum += (signals[signal] as number) * (signalTraits[signal * traitCount + trait] as number)
    }
    traits[trait] = sum
  }
}

/** Writes the similarity to each kind and the familiarity, by the distance to the typical texts. */
function writeKinds (found: TextAnalysis, weights: RouterWeights, nearest: Float32Array): void {
  const { signals, kinds } = found
  const { typicalKind, centres } = weights
  nearest.fill(Infinity)
  for (let one = 0; one < typicalKind.length; one++) {
    let square = 0
    const from = one * signalCount
    for (let at = 0; at < signalCount; at++) {
      const difference = (signals[at] as number) - (centres[from + at] as number)
      square += difference * difference
    }
    const kind = typicalKind[one] as number
    nearest[kind] = Math.min(nearest[kind] as number, square)
  }
  let closest = Infinity
  for (const square of nearest) closest = Math.min(closest, square)
  let sum = 0
  for (let kind = 0; kind < kinds.length; kind++) {
    const share = Math.exp(-sharpness * ((nearest[kind] as number) - closest))
    kinds[kind] = share < leastShare ? 0 : share
    sum += kinds[kind] as number
  }
  for (let kind = 0; kind < kinds.length; kind++) kinds[kind] = (kinds[kind] as number) / sum
  found.familiarity = Math.max(0, Math.min(1, (far - Math.sqrt(closest)) / (far - near)))
}

const sharpness = 6
/** Smaller shares count as 0. */
const leastShare = 0.01

function difficultyOf (
  { signals, domains: shares, task, factorOn }: TextAnalysis, facts: ConversationFacts
): number {
  if (factorOn === 'odds') return task === 'agent_step' ? difficultyByFacts(facts) : 0
  let sum = difficultyByDomain.code * (shares[codeAt] as number)
  for (const at of difficultSignals) sum += difficultyBySignal * (signals[at] as number)
  return mostDifficult * Math.tanh((sum + difficultyByFacts(facts)) / mostDifficult)
}

function difficultyByFacts ({ turns, tools }: ConversationFacts): number {
  const doublings = (count: number) => Math.log2(Math.max(1, count))
  return difficultyByCount.turns * doublings(turns) + difficultyByCount.tools * doublings(tools)
}

const codeAt = domains.indexOf('code')

function outputTokensOf (signals: Float32Array, { outputLength }: RouterWeights): number {
  let log = outputLength[0] as number
  for (let at = 0; at < signalCount; at++) log += (signals[at] as number) * (outputLength[at + 1] as number)
  return Math.max(outputBounds.least, Math.min(outputBounds.most, Math.exp(log)))
}
