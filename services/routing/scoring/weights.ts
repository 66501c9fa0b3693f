import { readFileSync } from 'node:fs'
import type { Domain } from '../../catalogue/types.ts'
import { bucketCount } from '../text/reader.ts'
import { signalCount } from '../text/signals.ts'

/**
 * The weights file: what `npm run route:train` learned. Numbers in base64 are signed bytes times their
 * scale.
 */
export interface WeightsFile {
  version: string
  /** What it was trained on, and when that data was made. */
  data: string
  /** Names of the kinds of text in the data, in the order of all lists by kind. */
  kinds: string[]
  /** Mean and spread of each signal. */
  signals: { mean: number[], spread: number[] }
  /** The kind of text that each trait is of; per bucket, then per signal, one number for each trait. */
  traits: { kinds: number[], constants: number[], buckets: string, bucketScale: number[], signals: number[] }
  /** Typical texts: the kind of each, and its signals as signed bytes times `scale`. */
  typical: { kind: number[], scale: number, centres: string }
  /** How hard each kind is for all, and how hard an ordinary text is. */
  kindLevels: number[]
  ordinaryLevel: number
  /** Logarithm of the length of an answer in tokens: a constant, then one number for each signal. */
  outputLength: number[]
  models: Record<string, TrainedModel>
  /** Other names of the models above. */
  aliases: Record<string, string>
  /** Levels of further models, measured elsewhere on programming tasks. */
  levels: Record<string, number>
  /** Milliseconds to the first token and tokens per second, as measured by others. */
  speeds: Record<string, [number, number]>
  /** The same for one that nobody measured and whose output costs 1 USD per million tokens. */
  usualSpeed: UsualSpeed
  /**
   * Level of a model of which only the catalogue tells: by the logarithms of its price in USD per million
   * tokens and of the tens of billions of parameters that its name speaks of, by years since 2024 and by
   * whether it thinks.
   */
  prior: Prior
}

export interface Prior {
  level: number
  perPrice: number
  sizeLevel: number
  perSize: number
  perYear: number
  reasoning: number
  /** How far off the trained models are from what their price says. */
  spread: number
}

export interface UsualSpeed {
  firstTokenMs: number
  tokensPerSecond: number
  /** How much the logarithm of the time grows with that of the price: what costs more is larger. */
  perPrice: number
}

export interface TrainedModel {
  /** Log-odds of a good answer to an ordinary text of the data. */
  level: number
  /** What each trait of a text adds to that. */
  slopes: number[]
  /** What each kind adds; 0 where the model was not seen. */
  kinds: number[]
  /** Logarithm of how much longer than others it answers. */
  verbosity: number
}

/** The weights as they are used. */
export interface Weights extends Omit<WeightsFile, 'signals' | 'traits' | 'typical'> {
  mean: Float32Array
  spread: Float32Array
  traitCount: number
  traitKinds: Int32Array
  traitConstants: Float32Array
  bucketTraits: Int8Array
  bucketScale: Float32Array
  signalTraits: Float32Array
  typicalKind: Int32Array
  centres: Float32Array
}

/** Domains in the order of all lists by domain. */
export const domains: readonly Domain[] = [
  'code', 'math', 'tools', 'knowledge', 'extraction', 'chat', 'multilingual', 'long_context'
]

/** Reads the weights that come with the gateway. */
export function loadWeights (url = new URL('./router.json', import.meta.url)): Weights {
  return toWeights(JSON.parse(readFileSync(url, 'utf8')))
}

/** Unpacks a weights file; throws an Error when it belongs to another way of reading texts. */
export function toWeights ({ signals, traits, typical, ...rest }: WeightsFile): Weights {
  const bucketTraits = bytesOf(traits.buckets)
  const traitCount = traits.kinds?.length
  if (bucketTraits.length !== bucketCount * traitCount || signals.mean.length !== signalCount) {
    throw new Error(
      'The routing weights were trained for another version of Tollgate; run `npm run route:train`.'
    )
  }
  return {
    ...rest,
    mean: Float32Array.from(signals.mean),
    spread: Float32Array.from(signals.spread),
    traitCount,
    traitKinds: Int32Array.from(traits.kinds),
    traitConstants: Float32Array.from(traits.constants),
    bucketTraits,
    bucketScale: Float32Array.from(traits.bucketScale),
    signalTraits: Float32Array.from(traits.signals),
    typicalKind: Int32Array.from(typical.kind),
    centres: Float32Array.from(bytesOf(typical.centres), byte => byte * typical.scale)
  }
}

function bytesOf (base64: string): Int8Array {
  return new Int8Array(Uint8Array.from(Buffer.from(base64, 'base64')).buffer)
}
