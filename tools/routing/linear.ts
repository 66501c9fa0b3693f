import { bucketCount } from '../../services/routing/text/reader.ts'
import { signalCount } from '../../services/routing/text/signals.ts'
import type { Examples } from './examples.ts'
import { dot } from './principal.ts'

/**
 * A linear model of a text: a coefficient for each bucket, then for each signal, then a constant; and the
 * fitted values of the training rows.
 */
export interface Linear { coefficients: Float64Array, fitted: Float64Array }

/** `penalty` applies to all coefficients but the constant; `signalWeight` scales the squared signals. */
export interface LinearOptions { penalty: number, signalWeight: number }

const rounds = 60
const signalsFrom = bucketCount
const constantAt = bucketCount + signalCount
const size = constantAt + 1

/**
 * Ridge regression of `targets` over some rows, by conjugate gradients: the rows are sparse, and the normal
 * matrix of more than 8,000 columns would take half a gigabyte.
 */
export function fitLinear (
  examples: Examples,
  signals: readonly Float32Array[],
  rows: readonly number[],
  targets: Float64Array,
  { penalty, signalWeight }: LinearOptions
): Linear {
  const { starts, buckets, weights } = examples
  const scale = Math.sqrt(signalWeight)

  /** The value of the model for a row. */
  function predict (row: number, coefficients: Float64Array): number {
    let sum = coefficients[constantAt] as number
    for (let gram = starts[row] as number; gram < (starts[row + 1] as number); gram++) {
      sum += (weights[gram] as number) * (coefficients[buckets[gram] as number] as number)
    }
    const dense = signals[row] as Float32Array
    for (let signal = 0; signal < signalCount; signal++) {
      sum += scale * (dense[signal] as number) * (coefficients[signalsFrom + signal] as number)
    }
    return sum
  }

  /** Adds a multiple of a row to `out`. */
  function addRow (row: number, factor: number, out: Float64Array): void {
    for (let gram = starts[row] as number; gram < (starts[row + 1] as number); gram++) {
      const bucket = buckets[gram] as number
      out[bucket] = (out[bucket] as number) + factor * (weights[gram] as number)
    }
    const dense = signals[row] as Float32Array
    for (let signal = 0; signal < signalCount; signal++) {
      const at = signalsFrom + signal
      out[at] = (out[at] as number) + factor * scale * (dense[signal] as number)
    }
    out[constantAt] = (out[constantAt] as number) + factor
  }

  function applyNormalMatrix (coefficients: Float64Array): Float64Array {
    const out = coefficients.map((value, at) => at === constantAt ? 0 : penalty * value)
    for (const row of rows) addRow(row, predict(row, coefficients), out)
    return out
  }

  const right = new Float64Array(size)
  rows.forEach((row, index) => addRow(row, targets[index] as number, right))
  const coefficients = conjugateGradients(applyNormalMatrix, right)
  const fitted = Float64Array.from(rows, row => predict(row, coefficients))
  for (let at = signalsFrom; at < constantAt; at++) coefficients[at] = (coefficients[at] as number) * scale
  return { coefficients, fitted }
}

/** Solves matrix · x = right, for a symmetric positive definite matrix given as a function of a vector. */
function conjugateGradients (
  matrix: (vector: Float64Array) => Float64Array, right: Float64Array
): Float64Array {
  const solution = new Float64Array(right.length)
  const residual = right.slice()
  let direction = right.slice()
  let square = dot(residual, residual)
  const tolerance = square * 1e-12
  for (let round = 0; round < rounds && square > tolerance; round++) {
    const product = matrix(direction)
    const step = square / dot(direction, product)
    for (let at = 0; at < solution.length; at++) {
      solution[at] = (solution[at] as number) + step * (direction[at] as number)
      residual[at] = (residual[at] as number) - step * (product[at] as number)
    }
    const before = square
    square = dot(residual, residual)
    direction = direction.map((value, at) => (residual[at] as number) + square / before * value)
  }
  return solution
}
