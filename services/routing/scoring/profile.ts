import type { ModelConfig } from '../../config/catalogue/types.ts'
import type { SpeedSeed } from '../types.ts'
import { ownMember } from '../../shared/json.ts'
import { logOdds } from './log-odds.ts'
import { loadPublishedLevels, publishedLevel, type LevelBasis, type LevelsFile, type PublishedLevel } from './published-levels.ts'
import { domains, type TrainedModel, type RouterWeights } from './weights.ts'

/** The expected quality of a model, as log-odds of a good answer, and its expected speed and verbosity. */
export interface ModelProfile {
  level: number
  slopes: Float32Array
  kinds: Float32Array
  /** By domain, on an ordinary text. */
  levels: Float32Array
  /** The levels by domain if the operator configured any; null otherwise. */
  ownQuality: Float32Array | null
  /** Length of its answers relative to other models, as a factor. */
  verbosity: number
  /** Whether it thinks before it answers, as long as the request's effort says. */
  isReasoning: boolean
  seed: SpeedSeed | null
  /** What each level rests on, by domain. */
  bases: readonly LevelBasis[]
}

/** The configuration behind a profile; the names are looked up in the weights in turn. */
export interface ProfileSource extends Pick<ModelConfig, 'quality' | 'price' | 'created' | 'capabilities'> {
  names: readonly string[]
}

/**
 * Creates the profile of a model from the operator's numbers, else the training data, else published
 * benchmarks, else its price, size, age and capabilities, which predict little.
 */
export function createProfile (
  model: ProfileSource, weights: RouterWeights, published: LevelsFile = publishedLevels()
): ModelProfile {
  const names = model.names.flatMap(nameVariants)
  const trained = names.map(name => ownMember(weights.models, ownMember(weights.aliases, name) ?? name))
    .find(one => one !== undefined)
  const measured = names.map(name => ownMember(weights.levels, name)).find(level => level !== undefined)
  const level = trained?.level ?? measured ?? priorLevel(model, weights)
  const kinds = Float32Array.from(trained?.kinds ?? weights.kinds.map(() => 0))
  const found = domains.map(domain => publishedLevel(names, domain, published))
  const levels = Float32Array.from(domains, (domain, at) => {
    const own = model.quality[domain]
    if (own !== undefined) return logOdds(own)
    const bonus = reasoningBonus(domain, model, trained)
    const general = level + domainOffset(at, kinds, weights) + bonus
    const blend = trained === undefined ? publishedWeight.others : publishedWeight.trained
    const known = found[at]
    const published = known === undefined ? general : known.level + growthSince(known, model, weights)
    return weights.ordinaryLevel + general + blend * (published - general)
  })
  const isOwn = Object.keys(model.quality).length > 0
  return {
    level,
    slopes: trained === undefined ? slopesAt(level, weights) : Float32Array.from(trained.slopes),
    kinds: isOwn ? kinds.fill(0) : kinds,
    levels,
    ownQuality: isOwn ? levels : null,
    verbosity: Math.exp(trained?.verbosity ?? (isReasoning(model) ? reasoningVerbosity : 0)),
    isReasoning: model.capabilities.reasoning,
    seed: seedOf(names, model.price, weights),
    bases: domains.map((domain, at) => {
      if (model.quality[domain] !== undefined) return { basis: 'operator', source: 'gateway.yaml', date: null }
      if (trained !== undefined) return basisOfTrained(domain, kinds, weights)
      if (found[at] !== undefined) return { ...found[at] }
      const basis = measured === undefined ? 'guessed' : 'family'
      return { basis, source: measured === undefined ? null : 'Aider polyglot', date: null }
    })
  }
}

function basisOfTrained (domain: string, kinds: Float32Array, weights: RouterWeights): LevelBasis {
  const isMeasured = (kindsOfDomain[domain] ?? []).some(kind => kinds[weights.kinds.indexOf(kind)] !== 0)
  return { basis: isMeasured ? 'measured' : 'family', source: `training data ${weights.version}`, date: null }
}

/** The table of the gateway, read once. */
function publishedLevels (): LevelsFile {
  table ??= loadPublishedLevels()
  return table
}
let table: LevelsFile | undefined

/**
 * How much of a level in a domain is the published one. For models of the training data, a part of it made
 * the choice worse; of the levels of others, predicted without them, it lowers the error most.
 */
const publishedWeight = { trained: 0, others: 0.7 }

/** How much better than an earlier release that was measured a model is by its age. */
function growthSince (
  { basis, date }: PublishedLevel, { created }: ProfileSource, { prior }: RouterWeights
): number {
  return basis === 'measured' ? 0 : prior.perYear * clamp((created - Date.parse(date) / 1000) / yearS, 0, 1)
}

/** The published speed, else the typical one at this price; null if neither is known. */
function seedOf (
  names: readonly string[], price: ProfileSource['price'], { speeds, usualSpeed }: RouterWeights
): ModelProfile['seed'] {
  for (const name of names) {
    const [firstTokenMs, tokensPerSecond] = ownMember(speeds, name) ?? []
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

/** The spellings of a model name: in lower case without its maker, then without its date or variant. */
export function nameVariants (name: string): string[] {
  const plain = name.toLowerCase().replace(/^.*\//, '').replace(/:.*$/, '')
  return [...new Set([plain, plain.replace(date, ''), plain.replace(variant, '')])]
}

const date = /[-@](20\d\d-?\d\d-?\d\d|\d{4})$/
const variant = /-(latest|preview|instruct|it|chat|hf)$/

/** The kinds of training data that inform each domain. */
export const kindsOfDomain: Readonly<Record<string, readonly string[]>> = {
  code: ['crux'],
  math: ['math', 'mmlupro'],
  knowledge: ['mmlu', 'mmlupro'],
  chat: ['arenabench'],
  extraction: ['dcrouter']
}

/** Half of the model's advantage in the kinds of a domain, because few tasks were measured. */
function domainOffset (domain: number, kinds: Float32Array, weights: RouterWeights): number {
  const names = kindsOfDomain[domains[domain] ?? ''] ?? []
  if (names.length === 0) return 0
  return 0.5 * names.reduce((sum, name) => sum + (kinds[weights.kinds.indexOf(name)] ?? 0), 0) / names.length
}

/** The advantage of reasoning models, in log-odds. */
function reasoningBonus (domain: string, model: ProfileSource, trained: TrainedModel | undefined): number {
  return trained === undefined && isReasoning(model) && (domain === 'math' || domain === 'code') ? 0.4 : 0
}

/** Without a price the capabilities are assumptions, not facts of the catalogue. */
function isReasoning ({ capabilities, price }: ProfileSource): boolean {
  return capabilities.reasoning && price !== null
}

const reasoningVerbosity = 1.2
const startS = Date.UTC(2024, 0) / 1000
const yearS = 365 * 86_400

/** The level by price and size, averaged where both are known, plus the effects of age and reasoning. */
function priorLevel (model: ProfileSource, { prior }: RouterWeights): number {
  const { price, created, names } = model
  const perToken = ((price?.inputPico ?? 0) * 3 + (price?.outputPico ?? 0)) / 4
  const guesses: number[] = []
  if (perToken > 0) guesses.push(prior.level + prior.perPrice * logOfPrice(perToken))
  const size = sizeOf(names)
  if (size !== null) guesses.push(prior.sizeLevel + prior.perSize * clamp(Math.log(size / 10), -3, 4))
  // Most models without a known price and size are small self-hosted ones.
  const base = guesses.length === 0
    ? prior.sizeLevel
    : guesses.reduce((sum, guess) => sum + guess, 0) / guesses.length
  const years = clamp((created - startS) / yearS, 0, 2.5)
  return base + prior.perYear * years + (isReasoning(model) ? prior.reasoning : 0)
}

/** The clamped logarithm, in USD per million tokens, of a price in pico-USD per token. */
function logOfPrice (pico: number): number {
  return clamp(Math.log(pico / 1_000_000), -3, 4)
}

/** Billions of parameters if a name states them, as in `llama-3.1-70b` or `8x7b`; null otherwise. */
export function sizeOf (names: readonly string[]): number | null {
  for (const name of names) {
    const [, times = '1', size] = /(?:^|[-_ ])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z])/i.exec(name) ?? []
    if (size !== undefined) return Number(times) * Number(size)
  }
  return null
}

function clamp (value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value))
}

/** The mean slopes of trained models, weighted by how close their level is. */
function slopesAt (level: number, { models, traitCount }: RouterWeights): Float32Array {
  const sum = new Float32Array(traitCount)
  let total = 0
  for (const one of Object.values(models)) {
    const weight = Math.exp(-2 * (one.level - level) ** 2) + 1e-6
    total += weight
    one.slopes.forEach((slope, trait) => { sum[trait] = (sum[trait] as number) + weight * slope })
  }
  return sum.map(value => value / total)
}
