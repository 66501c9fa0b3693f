import { readFileSync } from 'node:fs'
import type { Domain } from '../../config/catalogue/types.ts'
import { bucketCount } from '../text/reader.ts'
import { signalCount } from '../text/signals.ts'

/**
 * The weights file that `npm run route:train` writes. Numbers in base64 are signed bytes times their scale.
 */
export interface WeightsFile {
  version: string
  /** Description of the training data. */
  data: string
  /** Names of the kinds of text in the training data, in the order of all lists by kind. */
  kinds: string[]
  /** Mean and standard deviation of each signal. */
  signals: { mean: number[], spread: number[] }
  /** The kind of text of each trait; by bucket, then by signal, one coefficient for each trait. */
  traits: { kinds: number[], constants: number[], buckets: string, bucketScale: number[], signals: number[] }
  /** Typical texts: the kind of each, and its signals as signed bytes times `scale`. */
  typical: { kind: number[], scale: number, centres: string }
  /** Log-odds of a good answer: by kind, and for an ordinary text, relative to the level of a model. */
  kindLevels: number[]
  ordinaryLevel: number
  /** Coefficients of the logarithm of the answer's tokens: a constant, then one for each signal. */
  outputLength: number[]
  models: Record<string, TrainedModel>
  /** Other names of the models above. */
  aliases: Record<string, string>
  /** Levels of further models, from a published programming benchmark. */
  levels: Record<string, number>
  /** Published milliseconds to the first token and tokens per second. */
  speeds: Record<string, [number, number]>
  /** The typical speed of a model whose output costs 1 USD per million tokens. */
  usualSpeed: TypicalSpeed
  /**
   * Coefficients of the level of a model that is only in the catalogue: by the logarithms of its price in USD
   * per million tokens and of its tens of billions of parameters, by years since 2024 and by reasoning.
   */
  prior: LevelPrior
}

export interface LevelPrior {
  level: number
  perPrice: number
  sizeLevel: number
  perSize: number
  perYear: number
  reasoning: number
  /** Standard error of the trained models' levels by price. */
  spread: number
}

export interface TypicalSpeed {
  firstTokenMs: number
  tokensPerSecond: number
  /** Growth of the logarithm of the time with that of the price. */
  perPrice: number
}

export interface TrainedModel {
  /** Log-odds of a good answer to an ordinary text of the training data. */
  level: number
  /** Log-odds by trait of a text. */
  slopes: number[]
  /** Log-odds by kind; 0 where the model was not measured. */
  kinds: number[]
  /** Logarithm of the length of its answers relative to other models. */
  verbosity: number
}

/** The unpacked weights. */
export interface RouterWeights extends Omit<WeightsFile, 'signals' | 'traits' | 'typical'> {
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

/** Reads the weights file of the gateway. */
export function loadWeights (url = new URL('./router.json', import.meta.url)): RouterWeights {
  return unpackWeights(JSON.parse(readFileSync(url, 'utf8')))
}

/** Unpacks a weights file; throws an Error if it was trained for other buckets or signals. */
export function unpackWeights ({ signals, traits, typical, ...rest }: WeightsFile): RouterWeights {
  const bucketTraits = bytesOf(traits.buckets)
  const traitCount = traits.kinds?.length
  if (bucketTraits.length !== bucketCount * traitCount || signals.mean.length !== signalCount) {
    throw new Error('The routing weights are for another version of Tollgate; run `npm run route:train`.')
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
