/** A JSON Schema object from a request, unvalidated. */
export type Schema = Record<string, unknown>

/** The schema's document, the references being followed, and the budget of schemas to visit. */
export interface Scope { root: unknown, active: Set<string>, remaining: number }

/** A schema without `$ref`, `allOf`, `anyOf` and `oneOf`, and the references followed to build it. */
interface FlatSchema { schema: Schema, refs: string[] }

/** Merges references and combinations into one plain schema, whose values satisfy the original. */
export function flatten (schema: unknown, scope: Scope, depth = 0): FlatSchema {
  if (!isSchema(schema) || depth > maxReferences || scope.remaining-- <= 0) return { schema: {}, refs: [] }
  const { $ref: ref, allOf, anyOf, oneOf, ...plain } = schema
  const parts: unknown[] = Array.isArray(allOf) ? [...allOf] : []
  const refs: string[] = []
  if (typeof ref === 'string') {
    refs.push(ref)
    parts.push(resolve(ref, scope.root))
  }
  for (const branches of [anyOf, oneOf]) {
    if (Array.isArray(branches)) parts.push(choose(branches, scope.active))
  }
  let flat: Schema = plain
  for (const part of parts) {
    const inner = flatten(part, scope, depth + 1)
    refs.push(...inner.refs)
    flat = merge(flat, inner.schema)
  }
  return { schema: flat, refs }
}

/** Whether a schema, or the schema of its items, is one of the `active` references. */
export function isRecursive (schema: unknown, active: ReadonlySet<string>): boolean {
  if (!isSchema(schema)) return false
  if (typeof schema.$ref === 'string' && active.has(schema.$ref)) return true
  return schema.type !== 'array' ? false : isRecursive(schema.items, active)
}

/** Whether a value is a schema object. */
export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The numeric value of a keyword. */
export const numberIn = (schema: Schema, keyword: string): number | undefined => {
  const value = schema[keyword]
  return typeof value === 'number' ? value : undefined
}

/** The strings in a keyword's array. */
export const stringsIn = (schema: Schema, keyword: string): string[] => {
  const value = schema[keyword]
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}

const maxReferences = 32

function choose (branches: unknown[], active: ReadonlySet<string>): unknown {
  const finite = branches.filter(branch => !isRecursive(branch, active))
  return finite.find(branch => !isSchema(branch) || branch.type !== 'null') ?? finite[0] ?? branches[0]
}

/** Resolves a local reference: `#`, `#/$defs/name` or any other JSON Pointer (RFC 6901). */
function resolve (ref: string, root: unknown): unknown {
  if (!ref.startsWith('#')) return undefined
  let target = root
  for (const step of ref.slice(1).split('/').slice(1)) {
    const key = unescape(step)
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined
    target = Reflect.get(target, key)
  }
  return target
}

function unescape (step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    // A lone percent sign is literal.
    return plain
  }
}

const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']

function merge (left: Schema, right: Schema): Schema {
  const merged: Schema = { ...left, ...right }
  for (const keyword of Object.keys(right).filter(keyword => Object.hasOwn(left, keyword))) {
    merged[keyword] = both(keyword, left[keyword], right[keyword])
  }
  return merged
}

function both (keyword: string, left: unknown, right: unknown): unknown {
  if (typeof left === 'number' && typeof right === 'number') {
    if (lowerBounds.includes(keyword)) return Math.max(left, right)
    if (upperBounds.includes(keyword)) return Math.min(left, right)
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    if (keyword === 'required') return [...new Set([...left, ...right])]
    if (keyword === 'enum') return left.filter(value => right.includes(value))
  }
  if (keyword === 'type') return commonType(left, right)
  if (keyword === 'properties' && isSchema(left) && isSchema(right)) return mergeProperties(left, right)
  if (keyword === 'items') return { allOf: [left, right] }
  return right
}

function mergeProperties (left: Schema, right: Schema): Schema {
  const shared = Object.keys(right).filter(name => Object.hasOwn(left, name))
  const merged = shared.map(name => [name, { allOf: [left[name], right[name]] }])
  return { ...left, ...right, ...Object.fromEntries(merged) }
}

function commonType (left: unknown, right: unknown): unknown {
  const others = [right].flat()
  const common = [left].flat().filter(type => others.includes(type))
  return common.length > 0 ? common : right
}
