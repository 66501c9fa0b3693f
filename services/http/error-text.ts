import { ErrorResponse } from '../../schemas/openai/error.ts'
import type { GatewayError } from '../shared/errors.ts'
import { serializerOf } from './serializer.ts'

const serialize = serializerOf(ErrorResponse)

/** The body of an error response as JSON, with only the fields of its schema. */
export function errorText (error: Pick<GatewayError, 'toBody'>): string {
  return serialize(error.toBody())
}
