import { ValueErrorType, type ValueError } from '@sinclair/typebox/value'
import type { TSchema } from '@sinclair/typebox'
import { suggest } from './suggest.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

/** Turns a schema error into a message for the operator. Values are never quoted. */
export function explainError (
  { type, schema, message }: ValueError, path: Path, document: YamlDocument
): { path: Path, message: string, at: 'key' | 'value' } {
  if (type === ValueErrorType.ObjectAdditionalProperties) {
    const hint = suggest(String(path.at(-1)), Object.keys(schema.properties ?? {}))
    return { path, message: `is not a known key${hint}`, at: 'key' }
  }
  if (type === ValueErrorType.Union) {
    return { path, message: explainUnion(schema, document.written(path)), at: 'value' }
  }
  return { path, message: explainLimit(type, schema) ?? explainType(schema) ?? message, at: 'value' }
}

function explainLimit (type: ValueErrorType, schema: TSchema): string | undefined {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty: return 'is missing'
    case ValueErrorType.StringPattern: return `has the wrong format${example(schema)}. ${schema.description ?? ''}`.trimEnd()
    case ValueErrorType.StringMinLength:
    case ValueErrorType.ArrayMinItems:
    case ValueErrorType.ObjectMinProperties: return 'must not be empty'
    case ValueErrorType.StringMaxLength: return `must not be longer than ${schema.maxLength} characters`
    case ValueErrorType.ArrayMaxItems: return `must not have more than ${schema.maxItems} items`
    case ValueErrorType.ObjectMaxProperties: return `must not have more than ${schema.maxProperties} keys`
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.NumberMinimum: return `must be at least ${schema.minimum}`
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMaximum: return `must be at most ${schema.maximum}`
  }
}

function example ({ examples }: TSchema): string {
  return Array.isArray(examples) ? `; an example is ${JSON.stringify(examples[0])}` : ''
}

const types: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'a map',
  string: 'a string'
}

function explainType (schema: TSchema): string | undefined {
  const type = types[schema.type]
  return type && `must be ${type}${schema.type === 'object' ? example(schema) : ''}`
}

/** One sentence for all branches of a union: the allowed words, or their meaning together. */
function explainUnion ({ anyOf, description }: TSchema, written: string): string {
  const branches: TSchema[] = anyOf
  const words = branches.filter((branch) => typeof branch.const === 'string').map((branch) => String(branch.const))
  if (words.length > 0) return `must be one of ${words.join(', ')}${suggest(written, words)}`
  if (!branches.some(({ type }) => type === 'number')) return `must be ${branches.map(({ type }) => types[type]).join(' or ')}`
  return `must be a plain decimal number such as 0.15 or 1,250.00, at least 0. ${description ?? ''}`.trimEnd()
}
