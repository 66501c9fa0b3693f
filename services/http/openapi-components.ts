import { schemaNames } from '../../schemas/names.ts'
import { shareExamples } from './openapi-examples.ts'

type Json = Record<string, unknown>

interface Discriminator { propertyName: string }

/** Operations by path, or by the name of a webhook, and method. */
type Places = Record<string, Record<string, Json>>

/** The member that carries the name of a schema until it becomes a component. */
const mark = 'title'

let names: ReadonlyMap<string, string> | undefined

function namesOfSchemas (): ReadonlyMap<string, string> {
  names ??= schemaNames()
  return names
}

/** A copy of JSON in which each named schema is marked with its name. */
export function markNames (value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(markNames)
  const copy = Object.fromEntries(Object.entries(value).map(([key, child]) => [key, markNames(child)]))
  const name = isSchema(value) ? namesOfSchemas().get(JSON.stringify(value)) : undefined
  return name === undefined ? copy : { ...copy, [mark]: name }
}

/**
 * Moves the marked schemas of an OpenAPI document, and each branch of a discriminated union, into
 * `components.schemas`. A branch without a name gets the name of its parent and its value.
 */
export function toComponents (document: Json): Json {
  const schemas: Record<string, unknown> = {}

  function refer (wanted: string, schema: Json): Json {
    const text = JSON.stringify(schema)
    let name = wanted
    for (let at = 2; name in schemas && JSON.stringify(schemas[name]) !== text; at++) name = `${wanted}${at}`
    schemas[name] = schema
    return { $ref: `#/components/schemas/${name}` }
  }

  /** `place` is the name of the closest named schema and the members from there. */
  function move (value: unknown, place: string): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(item => move(item, place))
    const { [mark]: name, ...schema } = value as Json
    if (typeof name === 'string' && isSchema(schema)) return refer(name, moveMembers(schema, name))
    return moveMembers(value as Json, place)
  }

  function moveMembers (schema: Json, place: string): Json {
    const { discriminator, oneOf, ...rest } = schema
    const moved = Object.fromEntries(Object.entries(rest).map(([key, child]) => {
      return [key, move(child, structural.has(key) ? place : `${place}${capital(key)}`)]
    }))
    if (!Array.isArray(oneOf)) return moved
    return { ...moved, ...branches(discriminator as Discriminator | undefined, oneOf, place) }
  }

  function branches (discriminator: Discriminator | undefined, oneOf: Json[], place: string): Json {
    if (discriminator === undefined) return { oneOf: move(oneOf, place) }
    const mapping: Record<string, unknown> = {}
    const refs = oneOf.map(branch => {
      const values = valuesOf(branch, discriminator.propertyName)
      const { [mark]: name = `${place}${capital(String(values[0]))}`, ...schema } = branch
      const ref = refer(String(name), moveMembers(schema, String(name)))
      for (const value of values) mapping[value] = ref['$ref']
      return ref
    })
    return { discriminator: { ...discriminator, mapping }, oneOf: refs }
  }

  function moveOperations (places: Places): Json {
    return Object.fromEntries(Object.entries(places).map(([name, operations]) => {
      const moved = Object.entries(operations).map(([method, operation]) => {
        return [method, move(operation, capital(String(operation['operationId'])))]
      })
      return [name, Object.fromEntries(moved)]
    }))
  }

  const { paths, webhooks, components } = document
  const examples = shareExamples(paths as Places, namesOfSchemas())
  return {
    ...document,
    paths: moveOperations(paths as Places),
    webhooks: moveOperations((webhooks ?? {}) as Places),
    components: { ...components as Json, schemas, examples }
  }
}

/** Members that do not become part of a name. */
const structural = new Set([
  'properties', 'items', 'schema', 'content', 'application/json', 'requestBody', 'responses', 'then', 'else', 'x-events'
])

function isSchema (value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('properties' in value || 'then' in value)
}

function valuesOf ({ properties }: Json, tag: string): string[] {
  const members = properties as Record<string, { enum?: string[], const?: string }>
  const { enum: values, const: value } = members[tag] ?? {}
  return values ?? [String(value)]
}

/** E.g. `ToolChoice` for `tool_choice`. */
function capital (key: string): string {
  return key.split(/[^a-z0-9]+/i).map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
