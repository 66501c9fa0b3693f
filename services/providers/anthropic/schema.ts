import { isObject, type JsonObject } from '../../shared/json.ts'

// Source: @anthropic-ai/sdk 1.12.0, lib/transform-json-schema, and the limits that @ai-sdk/anthropic 4.0.105
// names.

/** Keywords that pass unchanged. */
const kept = ['$schema', '$id', '$ref', 'title', 'description', 'type', 'enum', 'const', 'default', 'required']
const maps = ['properties', '$defs', 'definitions']
const lists = ['anyOf', 'allOf']
const formats = new Set([
  'date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'
])
const maxOptional = 24

/** A schema in the subset that answers can be constrained to; null if it does not fit. */
export function adaptSchema (schema: JsonObject): JsonObject | null {
  const state: State = { root: schema, path: [], optional: 0, fits: true }
  check(schema, state)
  return state.fits && state.optional <= maxOptional ? adapt(schema) : null
}

interface State { root: JsonObject, path: string[], optional: number, fits: boolean }

function check (node: unknown, state: State): void {
  if (!isObject(node) || !state.fits) return
  const { $ref: ref, properties, required, additionalProperties: others, patternProperties: patterns } = node
  if (typeof ref === 'string') return checkReference(ref, state)
  const isMap = isObject(properties) ? others !== undefined : isObjectType(node)
  const isOpen = isMap && others !== false
  if (isOpen || patterns !== undefined) state.fits = false
  if (isObject(properties)) {
    const needed = Array.isArray(required) ? required : []
    state.optional += Object.keys(properties).filter(name => !needed.includes(name)).length
  }
  for (const child of childrenOf(node)) check(child, state)
}

function checkReference (ref: string, state: State): void {
  const target = state.path.includes(ref) ? undefined : resolve(ref, state.root)
  if (target === undefined) {
    state.fits = false
    return
  }
  state.path.push(ref)
  check(target, state)
  state.path.pop()
}

/** The target of a local reference; `undefined` for any other. */
function resolve (ref: string, root: JsonObject): unknown {
  if (!ref.startsWith('#/')) return undefined
  const steps = ref.slice(2).split('/').map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<unknown>((at, step) => {
    return isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined
  }, root)
}

/** Subschemas, without definitions: those count where they are referenced. */
function childrenOf (node: JsonObject): unknown[] {
  const { properties, items, anyOf, oneOf, allOf } = node
  return [isObject(properties) ? Object.values(properties) : [], items, anyOf, oneOf, allOf].flat()
}

function adapt (node: unknown): JsonObject {
  if (!isObject(node)) return {}
  const result: JsonObject = {}
  const notes: string[] = []
  for (const [key, value] of Object.entries(node)) {
    if (kept.includes(key)) result[key] = value
    else if (maps.includes(key) && isObject(value)) result[key] = adaptMap(value)
    else if (lists.includes(key) && Array.isArray(value)) result[key] = value.map(adapt)
    else if (key === 'oneOf' && Array.isArray(value)) result.anyOf = value.map(adapt)
    else if (key === 'items' && isObject(value)) result.items = adapt(value)
    else if (key === 'format' && typeof value === 'string' && formats.has(value)) result.format = value
    else if (key === 'minItems' && (value === 0 || value === 1)) result.minItems = value
    else if (key !== 'additionalProperties') notes.push(`${key}: ${JSON.stringify(value)}`)
  }
  if (isObjectType(node)) result.additionalProperties = false
  const demands = notes.length === 0 ? null : `{${notes.join(', ')}}`
  if (demands !== null) result.description = [node.description, demands].filter(Boolean).join('\n\n')
  return result
}

function adaptMap (map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, node]) => [name, adapt(node)]))
}

function isObjectType ({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)
}
