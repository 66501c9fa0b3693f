import { createReader, type Reading } from '../text/reader.ts'
import { signalCount, signalNames, writeSignals } from '../text/signals.ts'
import { writeDomains, type Setting } from './domains.ts'
import { domains, type Weights } from './weights.ts'

/** What the router makes of a text. The arrays are reused for the next one. */
export interface Understanding {
  readonly signals: Float32Array
  /** Of the kinds that it is like; those of the others are 0. */
  readonly traits: Float64Array
  /** How much the text is like each kind of the training data; sums up to 1. */
  readonly kinds: Float32Array
  /** Share of each domain; sums up to 1. */
  readonly domains: Float32Array
  /** 1: like the training data; 0: nothing like it. */
  familiarity: number
  /** How much harder than others the text looks, as the logarithm of a factor on failures. */
  difficulty: number
  outputTokens: number
}

/** Signals beyond this many spreads from their mean say no more. */
const farthest = 2.5
export const signalScale = 0.3
/** Of new texts of the kinds in the data half are nearer than the first, and nine in ten than the second. */
const near = 1.1
const far = 1.5
const outputBounds = { least: 24, most: 4000 }

/**
 * What makes a text harder for every model, and the more for a weak one. Chosen by hand, and all of the same
 * weight: neither what was learned of some kinds of text nor finer weights carry over to others.
 */
const hardening = [
  'length', 'sentences', 'numbers', 'char:space', 'words:steps', 'words:how', 'words:first', 'words:quantity',
  'words:format', 'words:compose', 'words:supposition'
].map(name => signalNames.indexOf(name))
const hardeningBySignal = 0.13 / signalScale
const hardeningByDomain = { code: 0.8 }
/** With every doubling. */
const hardeningByCount = { turns: 0.2, tools: 0.2 }
const mostDifficult = 1.5

/** Creates a function that tells what a text is like; it allocates nothing that grows with the text. */
export function createUnderstanding (weights: Weights): (text: string, setting: Setting) => Understanding {
  const reader = createReader()
  const raw = new Float32Array(signalCount)
  const nearest = new Float32Array(weights.kinds.length)
  const wanted = new Int32Array(weights.traitCount)
  const found: Understanding = {
    signals: new Float32Array(signalCount),
    traits: new Float64Array(weights.traitCount),
    kinds: new Float32Array(weights.kinds.length),
    domains: new Float32Array(domains.length),
    familiarity: 0,
    difficulty: 0,
    outputTokens: 0
  }

  return (text, setting) => {
    const reading = reader.read(text)
    writeSignals(reading, raw)
    standardise(raw, weights, found.signals)
    writeKinds(found, weights, nearest)
    writeTraits(found, reading, weights, wanted)
    writeDomains(raw, reading, setting, found.domains)
    found.difficulty = difficultyOf(found, setting)
    found.outputTokens = outputTokensOf(found.signals, weights)
    return found
  }
}

export function standardise (
  raw: Float32Array, { mean, spread }: Pick<Weights, 'mean' | 'spread'>, out: Float32Array
): void {
  for (let at = 0; at < signalCount; at++) {
    const z = ((raw[at] as number) - (mean[at] as number)) / (spread[at] as number)
    out[at] = Math.max(-farthest, Math.min(farthest, z)) * signalScale
  }
}

/** Weight of a bucket by how often it was hit. */
export function tfOf (count: number): number {
  return count === 1 ? 1 : 1 + Math.log(count)
}

/** Works out the traits of the kinds that the text is like; the others are 0. */
function writeTraits (
  { signals, traits, kinds, familiarity }: Understanding,
  { buckets, counts, size }: Reading,
  weights: Weights,
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

/** Compares the form of a text with the typical ones: which kinds it is like, and how familiar it is. */
function writeKinds (found: Understanding, weights: Weights, nearest: Float32Array): void {
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
/** A kind that the text is so little like is none of its kinds. */
const leastShare = 0.01

function difficultyOf ({ signals, domains: shares }: Understanding, { turns, tools }: Setting): number {
  let sum = hardeningByDomain.code * (shares[codeAt] as number)
  for (const at of hardening) sum += hardeningBySignal * (signals[at] as number)
  sum += hardeningByCount.turns * Math.log2(Math.max(1, turns))
  sum += hardeningByCount.tools * Math.log2(Math.max(1, tools))
  return mostDifficult * Math.tanh(sum / mostDifficult)
}

const codeAt = domains.indexOf('code')

function outputTokensOf (signals: Float32Array, { outputLength }: Weights): number {
  let log = outputLength[0] as number
  for (let at = 0; at < signalCount; at++) log += (signals[at] as number) * (outputLength[at + 1] as number)
  return Math.max(outputBounds.least, Math.min(outputBounds.most, Math.exp(log)))
}
