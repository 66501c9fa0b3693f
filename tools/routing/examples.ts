import { standardise, tfOf } from '../../services/routing/scoring/analyze-text.ts'
import { createTextReader } from '../../services/routing/text/reader.ts'
import { signalCount, writeSignals } from '../../services/routing/text/signals.ts'
import { rowText, type TrainingRow } from './data.ts'

/** Rows as matrices: n-grams sparse, signals dense; labels by model. */
export interface Examples {
  rows: readonly TrainingRow[]
  /** Index of the first n-gram of each row. */
  starts: Int32Array
  buckets: Int32Array
  weights: Float32Array
  raw: Float32Array[]
  kinds: string[]
  kindOf: Int32Array
  models: string[]
  labelled: { model: Int32Array, score: Float32Array }[]
}

/** Converts rows to matrices. */
export function toExamples (rows: readonly TrainingRow[]): Examples {
  const reader = createTextReader()
  const kinds = [...new Set(rows.map(({ family }) => family))].toSorted()
  const models = [...new Set(rows.flatMap(({ y }) => Object.keys(y)))].toSorted()
  const numberOf = new Map(models.map((model, index) => [model, index]))
  const starts = new Int32Array(rows.length + 1)
  const buckets: number[] = []
  const weights: number[] = []
  const raw = rows.map((row, index) => {
    const reading = reader.read(rowText(row))
    const found = [...reading.buckets.subarray(0, reading.size)]
    const tfs = found.map(bucket => tfOf(reading.counts[bucket] ?? 0))
    const norm = 1 / Math.sqrt(tfs.reduce((sum, tf) => sum + tf * tf, 0) || 1)
    for (const bucket of found) buckets.push(bucket)
    for (const tf of tfs) weights.push(tf * norm)
    starts[index + 1] = buckets.length
    const signals = new Float32Array(signalCount)
    writeSignals(reading, signals)
    return signals
  })
  return {
    rows,
    starts,
    buckets: Int32Array.from(buckets),
    weights: Float32Array.from(weights),
    raw,
    kinds,
    kindOf: Int32Array.from(rows, ({ family }) => kinds.indexOf(family)),
    models,
    labelled: rows.map(({ y }) => ({
      model: Int32Array.from(Object.keys(y), model => numberOf.get(model) ?? 0),
      score: Float32Array.from(Object.values(y))
    }))
  }
}

/** Mean and standard deviation of each signal over some rows. */
export function signalScaleOf (raw: readonly Float32Array[]): { mean: Float32Array, spread: Float32Array } {
  const mean = new Float32Array(signalCount)
  const spread = new Float32Array(signalCount)
  for (let at = 0; at < signalCount; at++) {
    const values = raw.map(signals => signals[at] as number)
    const average = values.reduce((sum, value) => sum + value, 0) / values.length
    mean[at] = average
    const variance = values.reduce((sum, value) => sum + (value - average) ** 2, 0) / values.length
    spread[at] = Math.sqrt(variance) + 1e-3
  }
  return { mean, spread }
}

/** The standardized signals of some rows. */
export function standardised (
  raw: readonly Float32Array[], scale: { mean: Float32Array, spread: Float32Array }
): Float32Array[] {
  return raw.map(signals => {
    const out = new Float32Array(signalCount)
    standardise(signals, scale, out)
    return out
  })
}
