import { ErrorResponse } from '../../schemas/openai/error.ts'
import type { GatewayError } from '../shared/errors.ts'
import { serializerOf } from './serializer.ts'

const serialize = serializerOf(ErrorResponse)

/** The body of an error answer as JSON: the fields of its schema and no others. */
export function errorText (error: Pick<GatewayError, 'toBody'>): string {
  return serialize(error.toBody())
}
