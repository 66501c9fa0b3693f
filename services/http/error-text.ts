import fastJson from 'fast-json-stringify'
import { ErrorResponse } from '../../schemas/openai/error.ts'
import type { GatewayError } from '../shared/errors.ts'

const serialize = fastJson(ErrorResponse)

/** The body of an error answer as JSON: the fields of its schema and no others. */
export function errorText (error: Pick<GatewayError, 'toBody'>): string {
  return serialize(error.toBody())
}
