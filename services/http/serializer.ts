import { createRequire } from 'node:module'
import type { Static, TSchema } from '@sinclair/typebox'
import { whenCalled } from './compile-once.ts'
import { findCompiled } from './compiled-schemas.ts'

const require = createRequire(import.meta.url)

/** The schemas of `serializerOf`. */
export const ownSchemas: TSchema[] = []

/**
 * A serializer of answers that Fastify has no schema of: it writes the fields of the schema and no others.
 * Compiled when it is first called, unless it was ahead of time.
 */
export function serializerOf<Schema extends TSchema> (schema: Schema): (response: Static<Schema>) => string {
  ownSchemas.push(schema)
  const compile = () => findCompiled('serializer', schema, undefined) ?? require('fast-json-stringify')(schema)
  return whenCalled(compile) as (result: Static<Schema>) => string
}
