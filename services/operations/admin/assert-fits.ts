import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { GatewayError } from '../../shared/errors.ts'

/**
 * Validates one field against its schema, for the CLI; the admin API has validated it already. Throws
 * GatewayError 400.
 */
export function assertFits (schema: TSchema, value: unknown, param: string): void {
  const error = Value.Errors(schema, value).First()
  if (error !== undefined) throw GatewayError.invalidValue(param, error.message)
}
