import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { compiledFolder } from './compiled-folder.ts'

/** A validator keeps the errors of its last call; a serializer has none. */
export interface Compiled { (data: unknown): unknown, errors?: unknown }

/** Validators check requests, serializers write responses. */
export type Use = 'validator' | 'serializer'

const require = createRequire(import.meta.url)

/** The function compiled ahead of time for a schema with the same options, or null. */
export function findCompiled (
  use: Use, schema: object, options: unknown, folder: string | null = compiledFolder
): Compiled | null {
  if (folder === null) return null
  const file = join(folder, compiledFile(use, schema, options))
  return existsSync(file) ? require(file) : null
}

/** The name of the CommonJS file with the compiled function of a schema. */
export function compiledFile (use: Use, schema: object, options: unknown): string {
  const digest = createHash('sha256').update(JSON.stringify([schema, options])).digest('hex')
  return `${use}-${digest.slice(0, 32)}.cjs`
}
