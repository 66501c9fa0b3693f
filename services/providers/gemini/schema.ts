import { isObject, type JsonObject } from '../../shared/json.ts'

/**
 * An equivalent schema without the keywords that Gemini lacks: `const` becomes an `enum` of one,
 * `definitions` become `$defs`, an `allOf` of one schema is inlined, and a `$ref` stands alone. The rest
 * passes. Source: @google/genai 3.1.0, `responseJsonSchema`.
 */
export function geminiSchema (schema: JsonObject): JsonObject {
  const { $schema: _, $defs, definitions, const: constant, ...rest } = withoutSingleAllOf(schema)
  const defs = definitionsOf($defs, definitions)
  if (typeof rest.$ref === 'string') return { ...defs, $ref: rest.$ref.replace(/^#\/definitions\//, '#/$defs/') }
  const known = Object.entries(rest).map(([key, value]) => [key, inside(key, value)])
  return { ...Object.fromEntries(known), ...defs, ...(constant === undefined ? {} : { enum: [constant] }) }
}

/** Keywords with subschemas: in a list, by name, or one. */
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const single = new Set(['items', 'additionalProperties', 'not'])

function inside (key: string, value: unknown): unknown {
  if (key === 'properties' && isObject(value)) return mapped(value)
  if (Array.isArray(value)) return lists.has(key) || single.has(key) ? value.map(below) : value
  return single.has(key) ? below(value) : value
}

const below = (value: unknown): unknown => isObject(value) ? geminiSchema(value) : value

function mapped (schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, below(schema)]))
}

function definitionsOf (...maps: unknown[]): JsonObject {
  const all: JsonObject = Object.assign({}, ...maps.filter(isObject))
  return Object.keys(all).length === 0 ? {} : { $defs: mapped(all) }
}

/** Generators wrap a reference in an `allOf` of one. */
function withoutSingleAllOf (schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema
  return Array.isArray(allOf) && allOf.length === 1 && isObject(allOf[0]) ? { ...allOf[0], ...rest } : schema
}
