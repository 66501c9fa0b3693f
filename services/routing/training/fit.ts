import { bucketCount } from '../text/reader.ts'
import { signalCount } from '../text/signals.ts'
import { createRandom } from './data.ts'
import type { Examples } from './examples.ts'
import { meanLevels } from './levels.ts'

export const fitDefaults = {
  traits: 16, epochs: 12, rate: 0.03, bucketDecay: 5e-3, signalDecay: 3e-3, slopeDecay: 0.03, seed: 1
}
export type FitOptions = typeof fitDefaults

/** What was learned, by model, kind, bucket and signal; matrices row by row. */
export interface Fitted {
  traits: number
  levels: Float32Array
  slopes: Float32Array
  modelKinds: Float32Array
  kindLevels: Float32Array
  bucketTraits: Float32Array
  signalTraits: Float32Array
}

/**
 * Learns σ(level of the model + of the kind + slopes of the model · traits of the text) from the labels of
 * the rows `chosen`, the traits being linear in n-grams and signals: AdaGrad with a falling rate. Families
 * count by the square root of their size, and a row as much however many models answered it.
 */
export function fit (
  examples: Examples, signals: readonly Float32Array[], chosen: readonly number[], options: FitOptions
): Fitted {
  const { traits: traitCount, epochs, rate, bucketDecay, signalDecay, slopeDecay, seed } = options
  const { starts, buckets, weights, kindOf, labelled, kinds, models } = examples
  const random = createRandom(seed)
  const kindCount = kinds.length
  const start = meanLevels(examples, chosen)
  const levels = parameters(start.levels)
  const kindLevels = parameters(start.kindLevels)
  const modelKinds = parameters(start.modelKinds)
  const slopes = parameters(new Float32Array(models.length * traitCount))
  const bucketTraits = parameters(new Float32Array(bucketCount * traitCount))
  const signalTraits = parameters(new Float32Array(signalCount * traitCount))
  bucketTraits.value.forEach((_, at) => { bucketTraits.value[at] = (random() - 0.5) * 0.02 })
  signalTraits.value.forEach((_, at) => { signalTraits.value[at] = (random() - 0.5) * 0.02 })
  slopes.value.forEach((_, at) => {
    slopes.value[at] = (
      at % traitCount === 0 ? 1 : 0
    ) + (random() - 0.5) * 0.6
  })
  const rowWeight = weightsOf(examples, chosen)
  const order = Int32Array.from(chosen)
  const traits = new Float32Array(traitCount)
  const gradient = new Float32Array(traitCount)
  let step = rate

  function update ({ value, squares }: Parameters, at: number, slope: number): void {
    const sum = (squares[at] as number) + slope * slope
    squares[at] = sum
    value[at] = (value[at] as number) - step * slope / Math.sqrt(sum)
  }

  function learnLabels (row: number): void {
    const kind = kindOf[row] as number
    const { model, score } = labelled[row] as Examples['labelled'][number]
    const weight = (rowWeight[kind] as number) / model.length
    for (let label = 0; label < model.length; label++) {
      const one = model[label] as number
      const inKind = one * kindCount + kind
      let sum = (levels.value[one] as number) + (
        kindLevels.value[kind] as number
      ) + (modelKinds.value[inKind] as number)
      for (let trait = 0; trait < traitCount; trait++) {
        sum += (slopes.value[one * traitCount + trait] as number) * (traits[trait] as number)
      }
      const error = weight * (1 / (1 + Math.exp(-sum)) - (score[label] as number))
      update(levels, one, error)
      update(kindLevels, kind, error)
      update(modelKinds, inKind, error)
      for (let trait = 0; trait < traitCount; trait++) {
        const at = one * traitCount + trait
        const slope = slopes.value[at] as number
        gradient[trait] = (gradient[trait] as number) + error * slope
        update(slopes, at, error * (traits[trait] as number) + slopeDecay * weight * (
          slope - (trait === 0 ? 1 : 0)
        ))
      }
    }
  }

  function learn (row: number): void {
    const dense = signals[row] as Float32Array
    traits.fill(0)
    gradient.fill(0)
    addTraits(row, dense)
    learnLabels(row)
    for (let gram = starts[row] as number; gram < (starts[row + 1] as number); gram++) {
      const from = (buckets[gram] as number) * traitCount
      const weight = weights[gram] as number
      for (let trait = 0; trait < traitCount; trait++) {
        const at = from + trait
        update(bucketTraits, at, (
          gradient[trait] as number
        ) * weight + bucketDecay * (bucketTraits.value[at] as number))
      }
    }
    for (let signal = 0; signal < signalCount; signal++) {
      const weight = dense[signal] as number
      for (let trait = 0; trait < traitCount; trait++) {
        const at = signal * traitCount + trait
        update(signalTraits, at, (
          gradient[trait] as number
        ) * weight + signalDecay * (signalTraits.value[at] as number))
      }
    }
  }

  function addTraits (row: number, dense: Float32Array): void {
    for (let gram = starts[row] as number; gram < (starts[row + 1] as number); gram++) {
      const from = (buckets[gram] as number) * traitCount
      const weight = weights[gram] as number
      for (let trait = 0; trait < traitCount; trait++) {
        traits[trait] = (traits[trait] as number) + weight * (bucketTraits.value[from + trait] as number)
      }
    }
    for (let signal = 0; signal < signalCount; signal++) {
      const weight = dense[signal] as number
      for (let trait = 0; trait < traitCount; trait++) {
        traits[trait] = (traits[trait] as number) + weight * (
          signalTraits.value[signal * traitCount + trait] as number
        )
      }
    }
  }

  for (let epoch = 0; epoch < epochs; epoch++) {
    step = rate * (1 - epoch / epochs)
    shuffle(order, random)
    for (const row of order) learn(row)
  }
  return {
    traits: traitCount,
    levels: levels.value,
    slopes: slopes.value,
    modelKinds: modelKinds.value,
    kindLevels: kindLevels.value,
    bucketTraits: bucketTraits.value,
    signalTraits: signalTraits.value
  }
}

interface Parameters { value: Float32Array, squares: Float32Array }

function parameters (value: Float32Array): Parameters {
  return { value, squares: new Float32Array(value.length).fill(1e-2) }
}

/** What a row of each kind counts. */
function weightsOf ({ kinds, kindOf }: Examples, chosen: readonly number[]): number[] {
  return kinds.map((_, kind) => {
    const rows = chosen.filter(row => kindOf[row] === kind).length
    return 3 / Math.sqrt(Math.max(1, rows) / 1000)
  })
}

function shuffle (order: Int32Array, random: () => number): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const kept = order[at] as number
    order[at] = order[other] as number
    order[other] = kept
  }
}
