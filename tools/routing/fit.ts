import { bucketCount } from '../../services/routing/text/reader.ts'
import { signalCount } from '../../services/routing/text/signals.ts'
import type { Examples } from './examples.ts'
import { meanLevels } from './levels.ts'
import { fitLinear } from './linear.ts'
import { add, dot, principal } from './principal.ts'
import { residualsOf } from './residuals.ts'

export const fitDefaults = { penalty: 10, signalWeight: 0.5, seed: 1 }
export type FitOptions = typeof fitDefaults

/** The fitted parameters by model, kind, bucket, signal and trait; matrices are in row-major order. */
export interface FittedModel {
  traits: number
  /** The kind of text that each trait is of. */
  traitKinds: number[]
  constants: Float32Array
  bucketTraits: Float32Array
  signalTraits: Float32Array
  levels: Float32Array
  kindLevels: Float32Array
  modelKinds: Float32Array
  slopes: Float32Array
}

/** A trait of one kind of text: its linear model, and its slope for each model. */
interface Trait { kind: number, coefficients: Float64Array, slopes: Float64Array }

/** Principal components of the scores that are fitted, and how many traits are kept of their predictions. */
const componentCount = 8
const traitCount = { few: 2, many: 4 }
const manyRows = 1000

/**
 * Fits how the chance of a good answer departs from the mean of its model in each kind of text. Within a kind
 * the scores of all models are predicted by ridge regression on n-grams and signals, and the predictions are
 * reduced to a few traits of the text. The slopes of the models are converted to log-odds.
 */
export function fit (
  examples: Examples, signals: readonly Float32Array[], chosen: readonly number[], options: FitOptions
): FittedModel {
  const { levels, kindLevels, modelKinds } = meanLevels(examples, chosen)
  const traits = examples.kinds.flatMap((_, kind) => {
    return traitsOf(kind, examples, signals, chosen.filter(row => examples.kindOf[row] === kind), options)
  })
  const slopes = traits.map(({ kind, slopes }) => withImputedSlopes(slopes.map((slope, model) => {
    const level = (levels[model] as number) + (kindLevels[kind] as number) + (
      modelKinds[model * examples.kinds.length + kind] as number
    )
    return slope / logisticSlope(level)
  }), levels))
  const matrix = (length: number, from: number) => {
    return Float32Array.from({ length: length * traits.length }, (_, at) => {
      return traits[at % traits.length]?.coefficients[from + Math.floor(at / traits.length)] as number
    })
  }
  return {
    traits: traits.length,
    traitKinds: traits.map(({ kind }) => kind),
    bucketTraits: matrix(bucketCount, 0),
    signalTraits: matrix(signalCount, bucketCount),
    constants: matrix(1, bucketCount + signalCount),
    levels,
    kindLevels,
    modelKinds,
    slopes: Float32Array.from({ length: levels.length * traits.length }, (_, at) => {
      return slopes[at % traits.length]?.[Math.floor(at / traits.length)] as number
    })
  }
}

function traitsOf (
  kind: number, examples: Examples, signals: readonly Float32Array[], rows: readonly number[],
  { seed, penalty, signalWeight }: FitOptions
): Trait[] {
  if (rows.length === 0) return []
  const { models, lines, noise } = residualsOf(examples, rows)
  const options = { penalty: penalty * Math.sqrt(noise), signalWeight }
  const directions = principal(lines, componentCount, seed)
  const fits = directions.map(direction => {
    return fitLinear(examples, signals, rows, Float64Array.from(lines, line => dot(line, direction)), options)
  })
  const predictions = rows.map((_, index) => Float64Array.from(fits, ({ fitted }) => fitted[index] as number))
  const count = rows.length < manyRows ? traitCount.few : traitCount.many
  return principal(predictions, count, seed).map(mixture => {
    const coefficients = new Float64Array(bucketCount + signalCount + 1)
    const slopes = new Float64Array(examples.models.length).fill(NaN)
    const loadings = new Float64Array(models.length)
    mixture.forEach((share, at) => {
      add(coefficients, fits[at]?.coefficients as Float64Array, share)
      add(loadings, directions[at] as Float64Array, share)
    })
    models.forEach((model, at) => { slopes[model] = loadings[at] as number })
    return { kind, coefficients, slopes }
  })
}

/** The derivative of the chance by its log-odds, bounded so that it does not inflate small effects. */
function logisticSlope (logOdds: number): number {
  const chance = 1 / (1 + Math.exp(-logOdds))
  return Math.max(minSlope, chance * (1 - chance))
}

const minSlope = 0.1

/** Models without answers in a kind get the slopes of models at a similar level. */
function withImputedSlopes (slopes: Float64Array, levels: Float32Array): Float64Array {
  return slopes.map((slope, model) => {
    if (!Number.isNaN(slope)) return slope
    let sum = 0
    let total = 0
    slopes.forEach((other, at) => {
      if (Number.isNaN(other)) return
      const weight = Math.exp(-2 * ((levels[at] as number) - (levels[model] as number)) ** 2) + 1e-6
      sum += weight * other
      total += weight
    })
    return sum / total
  })
}
