import type { TrainedModel, WeightsFile } from '../../services/routing/scoring/weights.ts'
import { signalCount } from '../../services/routing/text/signals.ts'
import { bucketCount } from '../../services/routing/text/reader.ts'
import { createRandom, type TrainingRow, type TrainingData } from './data.ts'
import { signalScaleOf, standardised, toExamples, type Examples } from './examples.ts'
import { fit, fitDefaults, type FittedModel, type FitOptions } from './fit.ts'
import { aliasesOf, levelsElsewhere, priorOf, speedsOf, usualSpeedOf } from './model-data.ts'
import { ridge } from './ridge.ts'
import { clusterTexts, type TypicalText } from './cluster-texts.ts'

/** Log-odds by which an ordinary text is easier than those of benchmarks. */
const easierThanBenchmarks = 0.6
const lengthPenalty = 30

/** Trains on some rows and returns the weights file of the gateway; deterministic. */
export function train (
  data: TrainingData, rows: readonly TrainingRow[] = data.rows, options: Partial<FitOptions> = {}
): WeightsFile {
  const examples = toExamples(rows)
  const indexes = rows.map((_, index) => index)
  const scale = signalScaleOf(examples.raw)
  const signals = standardised(examples.raw, scale)
  const fitted = fit(examples, signals, indexes, { ...fitDefaults, ...options })
  const typical = clusterTexts(examples, signals, indexes, createRandom(fitDefaults.seed))
  const models = modelsOf(examples, fitted)
  const aliases = aliasesOf(data.models, models)
  const meanKindLevel = meanOf(fitted.kindLevels)
  const levels = levelsElsewhere(data.programming, models, aliases)
  return {
    version: versionOf(fitted),
    data: `${rows.length} prompts of ${examples.kinds.join(', ')}`,
    kinds: examples.kinds,
    signals: { mean: rounded(scale.mean, 5), spread: rounded(scale.spread, 5) },
    traits: {
      kinds: fitted.traitKinds,
      constants: rounded(fitted.constants, 4),
      ...packedBuckets(fitted),
      signals: rounded(fitted.signalTraits, 4)
    },
    typical: packedTypical(typical),
    kindLevels: rounded(fitted.kindLevels, 3),
    ordinaryLevel: round(meanKindLevel + easierThanBenchmarks, 3),
    outputLength: outputLengthOf(examples, signals),
    models: withVerbosity(models, rows),
    aliases,
    levels,
    speeds: speedsOf(data.speeds),
    usualSpeed: usualSpeedOf(data.speeds),
    prior: priorOf(data, models)
  }
}

function modelsOf (
  { models, kinds }: Examples, { levels, slopes, modelKinds, traits }: FittedModel
): Record<string, TrainedModel> {
  return Object.fromEntries(models.map((name, one) => [name, {
    level: round(levels[one] ?? 0, 3),
    slopes: rounded(slopes.subarray(one * traits, (one + 1) * traits), 3),
    kinds: rounded(modelKinds.subarray(one * kinds.length, (one + 1) * kinds.length), 3),
    verbosity: 0
  }]))
}

/** Adds the logarithm of each model's answer length relative to the other models on the same prompts. */
function withVerbosity (
  models: Record<string, TrainedModel>, rows: readonly TrainingRow[]
): Record<string, TrainedModel> {
  const sums = new Map<string, { log: number, count: number }>()
  for (const { out } of rows) {
    const lengths = Object.entries(out ?? {}).filter(([, tokens]) => tokens > 0)
    if (lengths.length < 2) continue
    const middle = lengths.reduce((sum, [, tokens]) => sum + Math.log(tokens), 0) / lengths.length
    for (const [model, tokens] of lengths) {
      const sum = sums.get(model) ?? { log: 0, count: 0 }
      sums.set(model, { log: sum.log + Math.log(tokens) - middle, count: sum.count + 1 })
    }
  }
  return Object.fromEntries(Object.entries(models).map(([name, model]) => {
    const sum = sums.get(name)
    return [name, { ...model, verbosity: sum === undefined ? 0 : round(sum.log / (sum.count + 5), 3) }]
  }))
}

/** Fits the logarithm of the length of an answer to the signals of the prompt. */
function outputLengthOf ({ rows }: Examples, signals: readonly Float32Array[]): number[] {
  const lines: number[][] = []
  const targets: number[] = []
  rows.forEach(({ out }, index) => {
    const lengths = Object.values(out ?? {}).filter(tokens => tokens > 0)
    if (lengths.length === 0) return
    lines.push([1, ...signals[index] ?? []])
    targets.push(lengths.reduce((sum, tokens) => sum + Math.log(tokens), 0) / lengths.length)
  })
  const constant = [Math.log(250), ...new Float32Array(signalCount)]
  return rounded(lines.length === 0 ? constant : ridge(lines, targets, lengthPenalty), 4)
}

function packedBuckets ({ bucketTraits, traits }: FittedModel): { buckets: string, bucketScale: number[] } {
  const largest = new Float32Array(traits)
  bucketTraits.forEach((value, at) => {
    largest[at % traits] = Math.max(largest[at % traits] as number, Math.abs(value))
  })
  const scale = largest.map(value => Number((value / 127).toPrecision(5)) || 1)
  const bytes = Int8Array.from({ length: bucketCount * traits }, (_, at) => {
    return Math.round((bucketTraits[at] as number) / (scale[at % traits] as number))
  })
  return {
    buckets: Buffer.from(bytes.buffer).toString('base64'),
    bucketScale: [...scale].map(value => Number(value.toPrecision(5)))
  }
}

function packedTypical (typical: readonly TypicalText[]): WeightsFile['typical'] {
  const scale = 0.008
  const bytes = Int8Array.from(typical.flatMap(({ centre }) => [...centre].map(value => {
    return Math.max(-127, Math.min(127, Math.round(value / scale)))
  })))
  return {
    kind: typical.map(({ kind }) => kind),
    scale,
    centres: Buffer.from(bytes.buffer).toString('base64')
  }
}

function meanOf (values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}

/** A hash of the fitted parameters. */
function versionOf ({ bucketTraits, levels }: FittedModel): string {
  let hash = 0x811c9dc5
  for (const value of [...levels, ...bucketTraits]) {
    hash = Math.imul(hash ^ Math.round(value * 1e4), 0x01000193)
  }
  return (hash >>> 0).toString(16).padStart(8, '0')
}

function rounded (values: Iterable<number>, decimals: number): number[] {
  return [...values].map(value => round(value, decimals))
}

function round (value: number, decimals: number): number {
  return Number(value.toFixed(decimals)) || 0
}
