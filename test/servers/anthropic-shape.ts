import { Type } from '@sinclair/typebox'
import type { TProperties, TSchema } from '@sinclair/typebox'

// The shape of a Messages request. Source: @anthropic-ai/sdk 1.12.0, MessageCreateParams and the blocks it
// takes, with the sampling parameters of API version 2023-06-01. As in the API, nothing beside what is listed
// is permitted.

const closed = <Properties extends TProperties>(properties: Properties) => {
  return Type.Object(properties, { additionalProperties: false })
}
const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
const tagged = <Tag extends string, Properties extends TProperties>(type: Tag, properties: Properties) => {
  return closed({ type: Type.Literal(type), ...properties })
}

const cacheControl = maybe(closed({
  type: Type.Literal('ephemeral'), ttl: Type.Optional(Type.Union([Type.Literal('5m'), Type.Literal('1h')]))
}))
const id = Type.String({ pattern: '^[a-zA-Z0-9_-]+$' })
const url = Type.String({ pattern: '^https://' })
const base64 = Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$' })
const oneOf = <const Texts extends readonly string[]>(...texts: Texts) => {
  return Type.Union(texts.map((text: Texts[number]) => Type.Literal(text)))
}
const imageType = oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp')

const text = tagged('text', { text: Type.String(), citations: maybe(Type.Array(Type.Object({}))), cache_control: cacheControl })
const image = tagged('image', {
  source: Type.Union([tagged('base64', { media_type: imageType, data: base64 }), tagged('url', { url })]),
  cache_control: cacheControl
})
const document = tagged('document', {
  source: Type.Union([
    tagged('base64', { media_type: Type.Literal('application/pdf'), data: base64 }),
    tagged('text', { media_type: Type.Literal('text/plain'), data: Type.String() }),
    tagged('url', { url })
  ]),
  title: maybe(Type.String({ minLength: 1, maxLength: 500 })),
  cache_control: cacheControl
})
const toolUse = tagged('tool_use', {
  id,
  name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,128}$' }),
  input: Type.Object({}),
  caller: Type.Optional(tagged('direct', {})),
  cache_control: cacheControl
})
const toolResult = tagged('tool_result', {
  tool_use_id: id,
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Union([text, image, document]))])),
  is_error: Type.Optional(Type.Boolean()),
  cache_control: cacheControl
})
const thinking = tagged('thinking', { thinking: Type.String(), signature: Type.String() })
const redacted = tagged('redacted_thinking', { data: Type.String({ minLength: 1 }) })

const contentOf = <Blocks extends TSchema[]>(blocks: [...Blocks]) => {
  return Type.Union([Type.String(), Type.Array(Type.Union(blocks), { minItems: 1 })])
}
const turn = Type.Union([
  closed({
    role: Type.Literal('user'),
    content: contentOf([text, image, document, toolResult])
  }),
  closed({
    role: Type.Literal('assistant'),
    content: contentOf([text, toolUse, thinking, redacted])
  }),
  // Claude Code 2.1.332 sends them to the newest models.
  closed({
    role: Type.Literal('system'),
    content: contentOf([text]),
    output_config: Type.Optional(closed({ effort: Type.String() }))
  })
])

const tool = closed({
  name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,128}$' }),
  description: Type.Optional(Type.String()),
  input_schema: Type.Object({ type: Type.Literal('object') }),
  strict: Type.Optional(Type.Boolean()),
  type: maybe(Type.Literal('custom')),
  defer_loading: Type.Optional(Type.Boolean()),
  eager_input_streaming: maybe(Type.Boolean()),
  input_examples: Type.Optional(Type.Array(Type.Object({}))),
  cache_control: cacheControl
})
const searchTool = tagged('web_search_20250305', {
  name: Type.Literal('web_search'),
  allowed_domains: maybe(Type.Array(Type.String())),
  blocked_domains: maybe(Type.Array(Type.String())),
  max_uses: maybe(Type.Integer({ minimum: 1 })),
  cache_control: cacheControl
})
const bashTool = tagged('bash_20250124', { name: Type.Literal('bash'), cache_control: cacheControl })
const single = { disable_parallel_tool_use: Type.Optional(Type.Boolean()) }
const effort = oneOf('low', 'medium', 'high', 'xhigh', 'max')
const display = maybe(Type.Union([Type.Literal('summarized'), Type.Literal('omitted')]))

export const messagesRequest = closed({
  model: Type.String({ minLength: 1 }),
  max_tokens: Type.Integer({ minimum: 1 }),
  messages: Type.Array(turn, { minItems: 1, maxItems: 100_000 }),
  system: Type.Optional(Type.Union([Type.String(), Type.Array(text, { minItems: 1 })])),
  stream: Type.Optional(Type.Boolean()),
  stop_sequences: Type.Optional(Type.Array(Type.String({ pattern: '\\S' }))),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: Type.Optional(Type.Integer({ minimum: 0 })),
  tools: Type.Optional(Type.Array(Type.Union([tool, searchTool, bashTool]))),
  tool_choice: Type.Optional(Type.Union([
    tagged('auto', single), tagged('any', single), tagged('tool', { name: Type.String(), ...single }), tagged('none', {})
  ])),
  thinking: Type.Optional(Type.Union([
    tagged('enabled', { budget_tokens: Type.Integer({ minimum: 1024 }), display }),
    tagged('adaptive', { display }),
    tagged('disabled', {}),
    tagged('between_tools', {})
  ])),
  output_config: Type.Optional(closed({
    effort: maybe(effort),
    format: maybe(tagged('json_schema', { schema: Type.Record(Type.String(), Type.Unknown()) }))
  })),
  metadata: Type.Optional(closed({ user_id: maybe(Type.String({ maxLength: 256 })) })),
  service_tier: Type.Optional(Type.Union([Type.Literal('auto'), Type.Literal('standard_only')])),
  // Of BetaMessageCreateParams; only with its header.
  context_management: maybe(closed({
    edits: Type.Optional(Type.Array(Type.Union([
      tagged('clear_thinking_20251015', { keep: Type.Optional(Type.Unknown()) }),
      Type.Object({ type: Type.Literal('clear_tool_uses_20250919') })
    ])))
  })),
  cache_control: cacheControl
})
