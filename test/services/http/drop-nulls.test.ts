import { Ajv } from 'ajv'
import t from 'tap'
import { CountTokensRequest, CreateMessageRequest } from '../../../schemas/anthropic/messages.ts'
import { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { CompletionRequest } from '../../../schemas/openai/completions.ts'
import { ImageGenerationRequest } from '../../../schemas/openai/images-generations.ts'
import { InputTokensRequest, ResponseRequest } from '../../../schemas/openai/responses.ts'
import { VideoCreateRequest } from '../../../schemas/openai/videos.ts'
import { dropNulls } from '../../../services/http/drop-nulls.ts'
import { ajvOptions } from '../../../services/http/validation.ts'

interface Schema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  minimum?: number
  minItems?: number
  items?: Schema
  required?: string[]
  properties?: Record<string, Schema>
  oneOf?: Schema[]
  then?: Schema
  else?: Schema
}

const parts = ({ oneOf = [], then, else: other }: Schema): Schema[] =>
  [...oneOf, ...then === undefined ? [] : [then], ...other === undefined ? [] : [other]]
const typesOf = ({ type }: Schema): string[] => [type ?? []].flat()

/** The smallest value that a schema takes. */
function sample (schema: Schema): unknown {
  const [type] = typesOf(schema)
  const { const: only, enum: values, items = {}, minItems = 0, minimum = 1, oneOf } = schema
  if (only !== undefined) return only
  if (values !== undefined) return values[0]
  if (oneOf?.[0] !== undefined) return sample(oneOf[0])
  if (type === 'object') return objectOf(schema)
  if (type === 'array') return minItems > 0 ? [sample(items)] : []
  if (type === 'integer' || type === 'number') return Math.max(minimum, 1)
  return type === 'boolean' ? true : 'text'
}

function objectOf ({ required = [], properties = {} }: Schema): object {
  return Object.fromEntries(required.map(name => [name, sample(properties[name] ?? {})]))
}

/** Values with one null each, where a member is optional; `path` is its place. */
function * withNulls (schema: Schema, path: string): Generator<{ path: string, value: unknown }> {
  const { properties = {}, required = [], items } = schema
  for (const part of parts(schema)) yield * withNulls(part, path)
  if (items !== undefined) {
    for (const one of withNulls(items, `${path}[]`)) yield { path: one.path, value: [one.value] }
  }
  for (const [name, member] of Object.entries(properties)) {
    const base = objectOf(schema)
    const isOptional = !required.includes(name) && member.type !== undefined
    if (isOptional) yield { path: `${path}.${name}`, value: { ...base, [name]: null } }
    for (const one of withNulls(member, `${path}.${name}`)) yield { path: one.path, value: { ...base, [name]: one.value } }
  }
}

const requests: Record<string, object> = {
  chat: ChatCompletionRequest,
  completions: CompletionRequest,
  responses: ResponseRequest,
  'input tokens': InputTokensRequest,
  messages: CreateMessageRequest,
  'count tokens': CountTokensRequest,
  images: ImageGenerationRequest,
  videos: VideoCreateRequest
}

for (const [name, schema] of Object.entries(requests)) {
  t.test(`null in an optional member of ${name} counts as its absence`, async t => {
    const validate = new Ajv(ajvOptions).compile(schema)
    const cases = [...withNulls(schema as Schema, name)]
    t.ok(cases.length > 5)
    for (const { path, value } of cases) {
      dropNulls(value, schema)
      t.ok(validate(value), `${path}: ${JSON.stringify(validate.errors?.[0]?.instancePath)} ${JSON.stringify(value)}`)
    }
  })
}

t.test('what a client means by null stays', async t => {
  const parameters = { type: 'object', properties: { unit: { enum: ['C', null], default: null } }, extra: null }
  const body = {
    model: 'm',
    messages: [{ role: 'assistant', content: null, refusal: null, tool_calls: null }, { role: 'user', content: null }],
    tools: [{ type: 'function', function: { name: 'f', parameters, description: null } }],
    metadata: { a: null },
    temperature: null,
    unlisted: null
  }
  t.ok(dropNulls(body, ChatCompletionRequest))
  t.strictSame(body, {
    model: 'm',
    messages: [{ role: 'assistant', content: null, refusal: null }, { role: 'user', content: null }],
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
    metadata: { a: null },
    temperature: null,
    unlisted: null
  })
  t.notOk(dropNulls(body, ChatCompletionRequest))
})
