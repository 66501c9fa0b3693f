import { bucketCount } from '../../services/routing/text/reader.ts'
import { signalCount } from '../../services/routing/text/signals.ts'
import type { Examples } from './examples.ts'
import { dot } from './principal.ts'

/**
 * A number that is linear in what is read of a text: a coefficient for each bucket, then for each signal,
 * then a constant; and what it comes to for the rows that it was learned from.
 */
export interface Linear { coefficients: Float64Array, fitted: Float64Array }

/** `penalty` on every coefficient but the constant; signals weigh so much more than n-grams, squared. */
export interface LinearOptions { penalty: number, signalWeight: number }

const rounds = 60
const signalsFrom = bucketCount
const constantAt = bucketCount + signalCount
const size = constantAt + 1

/** Penalised least squares of `targets` over some rows, by conjugate gradients. */
export function fitLinear (
  examples: Examples,
  signals: readonly Float32Array[],
  rows: readonly number[],
  targets: Float64Array,
  { penalty, signalWeight }: LinearOptions
): Linear {
  const { starts, buckets, weights } = examples
  const scale = Math.sqrt(signalWeight)

  /** What the coefficients say of a row. */
  function applied (row: number, coefficients: Float64Array): number {
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

  /** Adds so much of a row to `out`. */
  function spread (row: number, much: number, out: Float64Array): void {
    for (let gram = starts[row] as number; gram < (starts[row + 1] as number); gram++) {
      const bucket = buckets[gram] as number
      out[bucket] = (out[bucket] as number) + much * (weights[gram] as number)
    }
    const dense = signals[row] as Float32Array
    for (let signal = 0; signal < signalCount; signal++) {
      const at = signalsFrom + signal
      out[at] = (out[at] as number) + much * scale * (dense[signal] as number)
    }
    out[constantAt] = (out[constantAt] as number) + much
  }

  function normal (coefficients: Float64Array): Float64Array {
    const out = coefficients.map((value, at) => at === constantAt ? 0 : penalty * value)
    for (const row of rows) spread(row, applied(row, coefficients), out)
    return out
  }

  const right = new Float64Array(size)
  rows.forEach((row, index) => spread(row, targets[index] as number, right))
  const coefficients = conjugateGradients(normal, right)
  const fitted = Float64Array.from(rows, row => applied(row, coefficients))
  for (let at = signalsFrom; at < constantAt; at++) coefficients[at] = (coefficients[at] as number) * scale
  return { coefficients, fitted }
}

/** Solves matrix · x = right for a symmetric positive matrix that is given as what it does to a vector. */
function conjugateGradients (
  matrix: (vector: Float64Array) => Float64Array, right: Float64Array
): Float64Array {
  const found = new Float64Array(right.length)
  const rest = right.slice()
  let direction = right.slice()
  let square = dot(rest, rest)
  const enough = square * 1e-12
  for (let round = 0; round < rounds && square > enough; round++) {
    const moved = matrix(direction)
    const step = square / dot(direction, moved)
    for (let at = 0; at < found.length; at++) {
      found[at] = (found[at] as number) + step * (direction[at] as number)
      rest[at] = (rest[at] as number) - step * (moved[at] as number)
    }
    const before = square
    square = dot(rest, rest)
    direction = direction.map((value, at) => (rest[at] as number) + square / before * value)
  }
  return found
}
