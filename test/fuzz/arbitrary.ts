import fc, { type Arbitrary } from 'fast-check'
import { anyCharacter } from '../helpers/any-character.ts'

/** The part of JSON Schema that the OpenAPI document uses. */
export interface JsonSchema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  oneOf?: JsonSchema[]
  if?: JsonSchema
  then?: JsonSchema
  else?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  items?: JsonSchema
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
}

/** Greatest length of lists, texts and maps unless the schema sets a lower limit. */
const most = { items: 3, characters: 40, keys: 3 }

/** Values that satisfy a schema. */
export function valid (schema: JsonSchema): Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.oneOf !== undefined) return fc.oneof(...schema.oneOf.map(valid))
  if (schema.then !== undefined && schema.else !== undefined) {
    return fc.oneof(valid(schema.then), valid(schema.else))
  }
  const types = [schema.type ?? []].flat()
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 })
  return fc.oneof(...types.map(type => ofType(type, schema)))
}

function ofType (type: string, schema: JsonSchema): Arbitrary<unknown> {
  const { minimum = -1e9, maximum = 1e9, minItems = 0, minLength = 0, items = {} } = schema
  switch (type) {
    case 'null': return fc.constant(null)
    case 'boolean': return fc.boolean()
    case 'integer': return fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31 - 1) })
    case 'number': return fc.double({ min: minimum, max: maximum, noNaN: true })
    case 'array': {
      const maxLength = Math.min(schema.maxItems ?? Infinity, Math.max(minItems, most.items))
      return fc.array(valid(items), { minLength: minItems, maxLength })
    }
    case 'object': return objectOf(schema)
    default: {
      if (schema.pattern !== undefined) return matching(schema.pattern)
      const maxLength = Math.min(schema.maxLength ?? Infinity, Math.max(minLength, most.characters))
      return fc.string({ minLength, maxLength, unit: anyCharacter }).map(text => text.toWellFormed())
    }
  }
}

function objectOf ({ properties = {}, required = [], additionalProperties }: JsonSchema): Arbitrary<unknown> {
  const known = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valid(schema)]))
  const record = fc.record(known, { requiredKeys: required.filter(name => name in known) })
  if (typeof additionalProperties !== 'object') return record
  const names = fc.string({ maxLength: 20 })
  const more = fc.dictionary(names, valid(additionalProperties), { maxKeys: most.keys })
  return fc.tuple(more, record).map(([more, record]) => ({ ...more, ...record }))
}

/** Values that satisfy a schema except in one place, which has any value or none. */
export function broken (schema: JsonSchema): Arbitrary<unknown> {
  const path = fc.array(fc.nat(), { minLength: 1, maxLength: 5 })
  return fc.tuple(valid(schema), path, fc.option(fc.jsonValue(), { nil: undefined }))
    .map(([value, path, junk]) => replaced(value, path, junk))
}

function replaced (value: unknown, [step = 0, ...rest]: number[], junk: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return junk
  const names = Object.keys(value)
  const name = names[step % names.length] ?? ''
  const inner: unknown = Reflect.get(value, name)
  const next = rest.length === 0 ? junk : replaced(inner, rest, junk)
  return Array.isArray(value) ? value.with(Number(name), next) : { ...value, [name]: next }
}

/** Texts that match a pattern. fast-check knows no lookahead, so what one forbids is filtered out. */
function matching (pattern: string): fc.Arbitrary<string> {
  const whole = new RegExp(pattern)
  return fc.stringMatching(new RegExp(pattern.replaceAll(/\(\?![^)]*\)/g, ''))).filter(text => whole.test(text))
}
