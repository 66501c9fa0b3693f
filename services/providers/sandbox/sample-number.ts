import type { PromptValues } from './prompt-values.ts'
import { numberIn, type Schema } from './schema.ts'

/** The first number of the prompt that fits the schema's bounds, else one near the lower bound. */
export function sampleNumber (schema: Schema, values: PromptValues, variant: number): number {
  const range = rangeOf(schema)
  const named = values.numbers.findIndex(number => fits(number, range))
  if (named >= 0) return values.numbers.splice(named, 1)[0] ?? 0
  const { above, below, step, integer } = range
  const grid = step ?? (integer || below - above > 2 ? 1 : (below - above) / 4)
  const start = above > -Infinity ? above : Math.min(1, below - 100 * grid)
  const first = Math.ceil(start / grid) * grid
  const lowest = [first, first + grid, start].find(number => fits(number, range)) ?? first
  const count = Math.max(1, Math.floor((below - lowest) / grid) + 1)
  const varied = lowest + (variant % Math.min(count, 1_000)) * grid
  return fits(varied, range) ? varied : lowest
}

interface Range {
  /** Inclusive bounds, unless `openAbove` or `openBelow`. */
  above: number
  below: number
  openAbove: boolean
  openBelow: boolean
  step: number | undefined
  integer: boolean
}

function rangeOf (schema: Schema): Range {
  const least = numberIn(schema, 'minimum') ?? -Infinity
  const most = numberIn(schema, 'maximum') ?? Infinity
  // In draft 4 `exclusiveMinimum` is a boolean beside `minimum`.
  const overLeast = numberIn(schema, 'exclusiveMinimum') ?? (schema.exclusiveMinimum === true ? least : -Infinity)
  const underMost = numberIn(schema, 'exclusiveMaximum') ?? (schema.exclusiveMaximum === true ? most : Infinity)
  const step = numberIn(schema, 'multipleOf')
  return {
    above: Math.max(least, overLeast),
    below: Math.min(most, underMost),
    openAbove: overLeast >= least,
    openBelow: underMost <= most,
    step: step !== undefined && step > 0 ? step : undefined,
    integer: [schema.type].flat().includes('integer')
  }
}

function fits (number: number, { above, below, openAbove, openBelow, step, integer }: Range): boolean {
  if (integer && !Number.isInteger(number)) return false
  if (step !== undefined && !Number.isInteger(number / step)) return false
  return (openAbove ? number > above : number >= above) && (openBelow ? number < below : number <= below)
}
