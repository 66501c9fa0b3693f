import { GatewayError } from '../shared/errors.ts'
import type { Exclusion } from './types.ts'
import { constraintTexts } from './types.ts'

const maxNamed = 20

/** 400: no model can take the request; says which constraint removed which model. */
export function nothingQualifies (policy: string, excluded: readonly Exclusion[]): GatewayError {
  const named = excluded.slice(0, maxNamed)
    .map(({ model, constraint }) => `\`${model}\` ${constraintTexts[constraint]} (${constraint})`)
  const more = excluded.length > maxNamed ? `; and ${excluded.length - maxNamed} more` : ''
  const why = named.length === 0 ? 'there are no models to choose from.' : `${named.join('; ')}${more}.`
  return GatewayError.invalidRequest(`No model qualifies for \`${policy}\`: ${why}`,
    { param: 'model', code: 'no_model_qualifies' })
}
