import type { Examples } from './examples.ts'

/** Log-odds of a good answer: by model, by kind of text, and by model in each kind. */
export interface MeanLevels { levels: Float32Array, kindLevels: Float32Array, modelKinds: Float32Array }

const rounds = 30
/**
 * Shrinks models and kinds with little data to the mean, because kinds differ in which models answered them.
 */
const shrink = 0.3

/** Splits the mean scores of models in kinds into a part of the model, a part of the kind and a remainder. */
export function meanLevels (
  { models, kinds, kindOf, labelled }: Examples, chosen: readonly number[]
): MeanLevels {
  const sums = new Float64Array(models.length * kinds.length)
  const counts = new Float64Array(sums.length)
  for (const row of chosen) {
    const kind = kindOf[row] as number
    labelled[row]?.model.forEach((model, at) => {
      const cell = model * kinds.length + kind
      sums[cell] = (sums[cell] as number) + (labelled[row]?.score[at] as number)
      counts[cell] = (counts[cell] as number) + 1
    })
  }
  const odds = sums.map((sum, cell) => {
    const share = (sum + 1) / ((counts[cell] as number) + 2)
    return Math.log(share / (1 - share))
  })
  const levels = new Float32Array(models.length)
  const kindLevels = new Float32Array(kinds.length)
  for (let round = 0; round < rounds; round++) {
    for (let kind = 0; kind < kinds.length; kind++) {
      kindLevels[kind] = average(models.length, model => [
        model * kinds.length + kind, levels[model] as number
      ])
    }
    for (let model = 0; model < models.length; model++) {
      levels[model] = average(kinds.length, kind => [model * kinds.length + kind, kindLevels[kind] as number])
    }
  }

  function average (count: number, cellOf: (at: number) => [number, number]): number {
    let sum = 0
    let weight = shrink
    for (let at = 0; at < count; at++) {
      const [cell, explained] = cellOf(at)
      if (counts[cell] === 0) continue
      sum += (odds[cell] as number) - explained
      weight++
    }
    return sum / weight
  }

  const modelKinds = Float32Array.from(odds, (value, cell) => {
    if (counts[cell] === 0) return 0
    const level = levels[Math.floor(cell / kinds.length)] as number
    const explained = level + (kindLevels[cell % kinds.length] as number)
    return (value - explained) * (counts[cell] as number) / ((counts[cell] as number) + 30)
  })
  return { levels, kindLevels, modelKinds }
}
