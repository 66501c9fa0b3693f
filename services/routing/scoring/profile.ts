import type { ModelConfig } from '../../catalogue/types.ts'
import { domains, type TrainedModel, type Weights } from './weights.ts'

/** What is expected of a model, as log-odds of a good answer. */
export interface Profile {
  level: number
  slopes: Float32Array
  kinds: Float32Array
  /** Per domain, on an ordinary text. */
  levels: Float32Array
  /** The operator's own numbers, null where there are none. */
  ownQuality: Float32Array | null
  /** Per domain, what to add after all: what was learned from feedback. Null: nothing was. */
  offsets: Float32Array | null
  /** How much longer than others it answers, as a factor. */
  verbosity: number
  /** Milliseconds to the first token and tokens per second before anything was measured. */
  seed: { firstTokenMs: number, tokensPerSecond: number } | null
  /** Where the expectation comes from. */
  source: 'operator' | 'trained' | 'measured' | 'catalogue'
}

/** What the profile of a model is made from; the names are tried in turn. */
export interface Described extends Pick<ModelConfig, 'quality' | 'price' | 'created' | 'capabilities'> {
  names: readonly string[]
}

/**
 * Tells what to expect of a model: from the operator's numbers, else from the data it was trained on, else
 * from measurements of others, else from its price, age and abilities, which say little.
 */
export function profileOf (model: Described, weights: Weights): Profile {
  const names = model.names.flatMap(spellings)
  const trained = names.map(name => weights.models[
    weights.aliases[name] ?? name
  ]).find(one => one !== undefined)
  const measured = names.map(name => weights.levels[name]).find(level => level !== undefined)
  const level = trained?.level ?? measured ?? priorLevel(model, weights)
  const kinds = Float32Array.from(trained?.kinds ?? weights.kinds.map(() => 0))
  const levels = Float32Array.from(domains, (domain, at) => {
    const own = model.quality[domain]
    if (own !== undefined) return logOdds(own)
    return level + weights.ordinaryLevel + domainOffset(at, kinds, weights) + thinking(domain, model, trained)
  })
  const isOwn = Object.keys(model.quality).length > 0
  return {
    level,
    slopes: trained === undefined ? slopesAt(level, weights) : Float32Array.from(trained.slopes),
    kinds: isOwn ? kinds.fill(0) : kinds,
    levels,
    ownQuality: isOwn ? levels : null,
    offsets: null,
    verbosity: Math.exp(trained?.verbosity ?? (isThinking(model) ? thinkingVerbosity : 0)),
    seed: seedOf(names, model.price, weights),
    source: isOwn ? 'operator' : trained !== undefined ? 'trained' : measured !== undefined ? 'measured' : 'catalogue'
  }
}

/** The speed that somebody measured, else the usual one at this price; null where nothing is known. */
function seedOf (
  names: readonly string[], price: Described['price'], { speeds, usualSpeed }: Weights
): Profile['seed'] {
  for (const name of names) {
    const [firstTokenMs, tokensPerSecond] = speeds[name] ?? []
    if (firstTokenMs !== undefined && tokensPerSecond !== undefined) return { firstTokenMs, tokensPerSecond }
  }
  const outputPico = price?.outputPico ?? 0
  if (outputPico === 0) return null
  const slower = Math.exp(usualSpeed.perPrice * logOfPrice(outputPico))
  return {
    firstTokenMs: usualSpeed.firstTokenMs * slower,
    tokensPerSecond: usualSpeed.tokensPerSecond / slower
  }
}

/** A name as catalogues, aggregators and people write it: with and without its maker, date and case. */
export function spellings (name: string): string[] {
  const plain = name.toLowerCase().replace(/^.*\//, '').replace(/:.*$/, '')
  return [...new Set([plain, plain.replace(date, ''), plain.replace(variant, '')])]
}

const date = /[-@](20\d\d-?\d\d-?\d\d|\d{4})$/
const variant = /-(latest|preview|instruct|it|chat|hf)$/

/** Which kinds of the training data tell of which domain; the others tell of none. */
export const kindsOfDomain: Readonly<Record<string, readonly string[]>> = {
  code: ['crux'],
  math: ['math', 'mmlupro'],
  knowledge: ['mmlu', 'mmlupro'],
  chat: ['arenabench'],
  extraction: ['dcrouter']
}

/** Half of how much better than elsewhere the model was seen to be: what is known of it is from few tasks. */
function domainOffset (domain: number, kinds: Float32Array, weights: Weights): number {
  const names = kindsOfDomain[domains[domain] ?? ''] ?? []
  if (names.length === 0) return 0
  return 0.5 * names.reduce((sum, name) => sum + (kinds[weights.kinds.indexOf(name)] ?? 0), 0) / names.length
}

/** Models that think first are better where there is something to think about. */
function thinking (domain: string, model: Described, trained: TrainedModel | undefined): number {
  return trained === undefined && isThinking(model) && (domain === 'math' || domain === 'code') ? 0.4 : 0
}

/** The catalogue's word; a model nobody knows is not assumed to think. */
function isThinking ({ capabilities, price }: Described): boolean {
  return capabilities.reasoning && price !== null
}

const thinkingVerbosity = 1.2
const startS = Date.UTC(2024, 0) / 1000
const yearS = 365 * 86_400

/** Price and size each say what they can; what is unknown says nothing. */
function priorLevel (model: Described, { prior }: Weights): number {
  const { price, created, names } = model
  const perToken = ((price?.inputPico ?? 0) * 3 + (price?.outputPico ?? 0)) / 4
  const guesses: number[] = []
  if (perToken > 0) guesses.push(prior.level + prior.perPrice * logOfPrice(perToken))
  const size = sizeOf(names)
  if (size !== null) guesses.push(prior.sizeLevel + prior.perSize * clamp(Math.log(size / 10), -3, 4))
  // Of a model of no known price and size most will be small ones that somebody runs for himself.
  const base = guesses.length === 0
    ? prior.sizeLevel
    : guesses.reduce(
      (sum, one) => sum + one, 0
    ) / guesses.length
  const years = clamp((created - startS) / yearS, 0, 2.5)
  return base + prior.perYear * years + (isThinking(model) ? prior.reasoning : 0)
}

/** Of a price in pico-USD per token the logarithm in USD per million; what is far out says no more. */
function logOfPrice (pico: number): number {
  return clamp(Math.log(pico / 1_000_000), -3, 4)
}

/** Billions of parameters, where a name speaks of them: `llama-3.1-70b`, `8x7b`. */
export function sizeOf (names: readonly string[]): number | null {
  for (const name of names) {
    const [, times = '1', size] = /(?:^|[-_ ])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z])/i.exec(name) ?? []
    if (size !== undefined) return Number(times) * Number(size)
  }
  return null
}

function clamp (value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value))
}

/** The slopes of trained models of about this level. */
function slopesAt (level: number, { models, traitCount }: Weights): Float32Array {
  const sum = new Float32Array(traitCount)
  let total = 0
  for (const one of Object.values(models)) {
    const weight = Math.exp(-2 * (one.level - level) ** 2) + 1e-6
    total += weight
    one.slopes.forEach((slope, trait) => { sum[trait] = (sum[trait] as number) + weight * slope })
  }
  return sum.map(value => value / total)
}

function logOdds (share: number): number {
  const inside = Math.max(0.01, Math.min(0.99, share))
  return Math.log(inside / (1 - inside))
}
