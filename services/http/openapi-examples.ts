import { fieldExamples } from '../../schemas/field-examples.ts'

type Json = Record<string, unknown>

/** The keywords that an example is made from. */
interface ExampleSchema {
  examples?: unknown[]
  const?: unknown
  enum?: unknown[]
  type?: string | string[]
  nullable?: boolean
  properties?: Record<string, ExampleSchema>
  required?: string[]
  items?: ExampleSchema
  anyOf?: ExampleSchema[]
}

interface Operation { responses?: Record<string, { content?: Record<string, Media> }> }
interface Media { schema?: Json, examples?: object }

/**
 * Gives each JSON response in `paths` a reference to the example of its schema, named in `title`. Returns the
 * `components.examples` of these references; `names` are the names of schemas, by their JSON.
 */
export function shareExamples (paths: object, names: ReadonlyMap<string, string>): Json {
  const texts = new Map([...names].map(([text, name]) => [name, text]))
  const shared: Json = {}
  for (const { responses = {} } of Object.values(paths).flatMap(Object.values) as Operation[]) {
    for (const [status, { content }] of Object.entries(responses)) {
      const media = content?.['application/json']
      const name = String(media?.schema?.['title'])
      const text = texts.get(name)
      if (media === undefined || text === undefined || !/^(2..|503|[45]XX)$/.test(status)) continue
      shared[name] ??= { value: exampleOf(JSON.parse(text)) }
      media.examples = { [name]: { $ref: `#/components/examples/${name}` } }
    }
  }
  return shared
}

/**
 * An example of a schema: the first of its `examples`, else one made from its members. Nullable and optional
 * members are null or absent unless they have an example. Undefined if a part has none.
 */
function exampleOf (schema: ExampleSchema, name = ''): unknown {
  const { examples, const: fixed, enum: values, properties, items, anyOf } = schema
  if (examples !== undefined) return examples[0]
  if (fixed !== undefined) return fixed
  const isNullable = schema.nullable === true || isOf(schema, 'null')
  if (values !== undefined && !isNullable) return values[0]
  if (Object.hasOwn(fieldExamples, name)) return fieldExamples[name]
  if (isNullable) return null
  if (properties !== undefined) return exampleOfObject(schema)
  if (items !== undefined) return [exampleOf(items)].filter(item => item !== undefined)
  if (anyOf?.[0] !== undefined) return exampleOf(anyOf[0])
  return isOf(schema, 'boolean') ? false : undefined
}

function exampleOfObject ({ properties = {}, required = [] }: ExampleSchema): Json {
  const members = Object.entries(properties).filter(([name, { examples }]) => {
    return required.includes(name) || examples !== undefined
  })
  return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member, name)]))
}

function isOf ({ type }: ExampleSchema, kind: string): boolean {
  return [type].flat().includes(kind)
}
