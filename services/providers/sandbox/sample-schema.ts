import type { PromptValues } from './prompt-values.ts'
import { sampleNumber } from './sample-number.ts'
import { sampleString } from './sample-string.ts'
import { flatten, isSchema, numberIn, isRecursive, stringsIn, type Schema, type Scope } from './schema.ts'
import { wordsOf } from './words.ts'

/**
 * Builds a value that is valid against a JSON Schema (draft 2020-12 or 7) and uses values of the prompt where
 * they fit; `variant` varies the rest. Required properties are always present, optional ones if the prompt
 * mentions them or if none is required. Ignores `not`, `if`, `contains`, `patternProperties`,
 * `propertyNames`, dependencies and remote references. Bounded, even against the schema: at most 2,000
 * values, nested 256 deep, 100 items per array and 10,000 characters per string. No regular expression of
 * the schema is executed.
 */
export function sampleSchema (schema: unknown, values: PromptValues, variant: number): unknown {
  const mentioned = new Set(wordsOf(values.text))
  const sampling = { root: schema, active: new Set(['#']), remaining: maxValues, depth: 0, values, mentioned }
  return sampleValue({ schema, name: 'value', variant }, sampling)
}

interface Task { schema: unknown, name: string, variant: number }

interface Sampling extends Scope { depth: number, values: PromptValues, mentioned: ReadonlySet<string> }

const maxValues = 2_000
const maxItems = 100
/** The nesting of a request has the same limit, so only schemas that require themselves reach it. */
const maxDepth = 256

function sampleValue ({ schema: nested, name, variant }: Task, sampling: Sampling): unknown {
  if (sampling.depth >= maxDepth) return null
  const { schema, refs } = flatten(nested, sampling)
  const added = refs.filter(ref => !sampling.active.has(ref))
  for (const ref of added) sampling.active.add(ref)
  sampling.depth++
  const value = sampleFlat({ schema, name, variant }, sampling)
  sampling.depth--
  for (const ref of added) sampling.active.delete(ref)
  return value
}

function sampleFlat ({ schema, name, variant }: Task & { schema: Schema }, sampling: Sampling): unknown {
  if (Object.hasOwn(schema, 'const')) return schema.const
  if (Array.isArray(schema.enum)) {
    const mentioned = mentionedValues(schema.enum, sampling.mentioned)
    const allowed = mentioned.length > 0 || schema.default === undefined ? schema.enum : [schema.default]
    return pick(mentioned, variant) ?? pick(allowed, variant)
  }
  const type = typeOf(schema)
  if (isDefault(schema.default, type) && !isMentioned(name, sampling.mentioned)) return schema.default
  switch (type) {
    case 'object': return sampleObject(schema, variant, sampling)
    case 'array': return sampleArray({ schema, name, variant }, sampling)
    case 'integer':
    case 'number': return sampleNumber(schema, sampling.values, variant)
    case 'boolean': return variant % 2 === 0
    case 'null': return null
    default: return sampleString(schema, name, sampling.values, variant)
  }
}

function sampleObject (schema: Schema, variant: number, sampling: Sampling): unknown {
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const required = new Set(stringsIn(schema, 'required'))
  const optional = Object.keys(properties)
    .filter(name => !required.has(name) && !isRecursive(properties[name], sampling.active))
  const wanted = optional
    .filter(name => required.size === 0 || isWanted(name, properties[name], sampling.mentioned))
  const least = Math.min(numberIn(schema, 'minProperties') ?? 0, maxItems)
  const most = numberIn(schema, 'maxProperties') ?? Infinity
  const names = new Set([...required, ...wanted.slice(0, Math.max(0, most - required.size))])
  const spare = [...optional, ...Array.from({ length: least }, (_, i) => `key${i + 1}`)]
  for (const name of spare) {
    if (names.size >= least) break
    names.add(name)
  }
  const inOrder = [...Object.keys(properties).filter(name => names.has(name)), ...names]
  return Object.fromEntries([...new Set(inOrder)].map(name => {
    const property = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties
    return [name, sampleValue({ schema: property, name, variant }, sampling)]
  }))
}

function sampleArray ({ schema, name, variant }: Task & { schema: Schema }, sampling: Sampling): unknown[] {
  // In draft 7 `prefixItems` is `items`, and `items` is `additionalItems`.
  const [tuple, rest] = Array.isArray(schema.items)
    ? [schema.items, schema.additionalItems]
    : [Array.isArray(schema.prefixItems) ? schema.prefixItems : [], schema.items]
  const { schema: common } = flatten(rest, sampling)
  const options = Array.isArray(common.enum) ? mentionedFirst(common.enum, sampling.mentioned) : null
  const least = Math.min(numberIn(schema, 'minItems') ?? 0, maxItems)
  const most = Math.min(numberIn(schema, 'maxItems') ?? maxItems, rest === false ? tuple.length : maxItems)
  const usual = isRecursive(rest, sampling.active) ? 0 : Math.max(tuple.length, namedItems(common, sampling))
  const count = Math.min(Math.max(usual, least), most)
  // Keyed by content for `uniqueItems`, so that duplicates are dropped and retried.
  const items = new Map<unknown, unknown>()
  for (let i = 0; items.size < count && i < 4 * maxItems; i++) {
    const position = items.size
    const task = { schema: position < tuple.length ? tuple[position] : rest, name, variant: variant + i }
    const item = options !== null && position >= tuple.length ? pick(options, i) : sampleValue(task, sampling)
    items.set(schema.uniqueItems === true ? JSON.stringify(item) : i, item)
  }
  return [...items.values()]
}

function namedItems (items: Schema, { values, mentioned }: Sampling): number {
  const type = typeOf(items)
  if (Array.isArray(items.enum)) return Math.max(1, mentionedValues(items.enum, mentioned).length)
  if (type === 'number' || type === 'integer') return Math.max(1, values.numbers.length)
  return type === 'string' ? Math.max(1, values.quotes.length) : 1
}

function isWanted (name: string, schema: unknown, mentioned: ReadonlySet<string>): boolean {
  if (isMentioned(name, mentioned)) return true
  return isSchema(schema) && Array.isArray(schema.enum) && mentionedValues(schema.enum, mentioned).length > 0
}

const mentionedValues = (values: unknown[], mentioned: ReadonlySet<string>): unknown[] =>
  values.filter(value => typeof value === 'string' && isMentioned(value, mentioned))

function mentionedFirst (values: unknown[], mentioned: ReadonlySet<string>): unknown[] {
  return [...new Set([...mentionedValues(values, mentioned), ...values])]
}

function isMentioned (text: string, mentioned: ReadonlySet<string>): boolean {
  const words = wordsOf(text)
  return words.length > 0 && words.every(word => mentioned.has(word))
}

const pick = (values: unknown[], variant: number): unknown => values[variant % values.length]

// Only scalar defaults: a default array or object may be incomplete.
function isDefault (value: unknown, type: string): boolean {
  if (typeof value === 'object') return false
  const typeOfValue: string = Number.isInteger(value) && type === 'integer' ? 'integer' : typeof value
  return typeOfValue === type
}

const impliedTypes = [
  { type: 'object', keywords: ['properties', 'required', 'additionalProperties', 'minProperties'] },
  { type: 'array', keywords: ['items', 'prefixItems', 'minItems', 'uniqueItems'] },
  { type: 'number', keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] }
]

function typeOf (schema: Schema): string {
  const types = stringsIn({ types: [schema.type].flat() }, 'types')
  const implied = impliedTypes
    .find(({ keywords }) => keywords.some(keyword => Object.hasOwn(schema, keyword)))
  return types.find(type => type !== 'null') ?? types[0] ?? implied?.type ?? 'string'
}
