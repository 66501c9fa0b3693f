import type { Period } from '../../keys/periods.ts'
import { GatewayError } from '../../shared/errors.ts'
import { parseDimensions, tagOf, type UsageDimension } from './dimensions.ts'

const periods: readonly UsageDimension[] = ['day', 'week', 'month'] satisfies Period[]
const others: readonly UsageDimension[] = ['model', 'estimated']

/** Parses the dimensions of a client's usage. Throws GatewayError 400. */
export function parseOwnDimensions (text: string = 'day,model'): UsageDimension[] {
  try {
    const dimensions = parseDimensions(text)
    if (dimensions.every(isOwn)) return dimensions
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw GatewayError.invalidValue('by', 'must be one or more of day, week, month, model, estimated, tag:<name>')
}

function isOwn (dimension: UsageDimension): boolean {
  return periods.includes(dimension) || others.includes(dimension) || tagOf(dimension) !== null
}

/** Splits dimensions into a period and one other dimension. Throws GatewayError 400 for several. */
export function splitOwnDimensions (
  dimensions: readonly UsageDimension[]
): { period: Period, by: UsageDimension } {
  const [period = 'day', ...morePeriods] = dimensions.filter(isPeriod)
  const [by = 'model', ...moreNames] = dimensions.filter(dimension => !isPeriod(dimension))
  if (morePeriods.length === 0 && moreNames.length === 0) return { period, by }
  throw GatewayError.invalidValue('by', 'must be at most one period and one other dimension, except for CSV')
}

function isPeriod (dimension: UsageDimension): dimension is Period {
  return periods.includes(dimension)
}
