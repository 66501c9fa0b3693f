import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { GatewayError } from '../shared/errors.ts'

/**
 * Checks one field against its schema: what comes over HTTP has been checked before, what comes from the
 * command line has not. Throws GatewayError 400.
 */
export function assertFits (schema: TSchema, value: unknown, param: string): void {
  const error = Value.Errors(schema, value).First()
  if (error === undefined) return
  throw GatewayError.invalidRequest(`Invalid '${param}': ${error.message}.`, { param, code: 'invalid_value' })
}
