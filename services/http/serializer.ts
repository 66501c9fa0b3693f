import { createRequire } from 'node:module'
import type { Static, TSchema } from '@sinclair/typebox'
import { whenCalled } from './compile-once.ts'
import { findCompiled } from './compiled-schemas.ts'

const require = createRequire(import.meta.url)

/** The schemas of `serializerOf`. */
export const ownSchemas: TSchema[] = []

/**
 * A serializer of responses without a Fastify schema; it writes only the fields of `schema`. Compiled on its
 * first call, unless it was compiled ahead of time.
 */
export function serializerOf<Schema extends TSchema> (schema: Schema): (response: Static<Schema>) => string {
  ownSchemas.push(schema)
  const compile = () => findCompiled('serializer', schema, undefined) ?? require('fast-json-stringify')(schema)
  return whenCalled(compile) as (result: Static<Schema>) => string
}
