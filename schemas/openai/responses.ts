import { Type, type Static } from '@sinclair/typebox'
import { MapOf, Nullable, StringEnum, Tagged } from '../shared/combinators.ts'
import { ChatCompletionRequest } from './chat-completions.ts'
import { ResponseInput } from './response-items.ts'
import { ResponseTool, ResponseToolChoice } from './response-tools.ts'

// Source: openai@7.55.0 resources/responses/responses.d.ts, ResponseCreateParamsBase and Response.

const TextFormat = Tagged('type', [
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({
    type: Type.Literal('json_schema'),
    name: Type.String({ minLength: 1 }),
    description: Type.Optional(Nullable(Type.String())),
    schema: MapOf(Type.Unknown()),
    strict: Type.Optional(Nullable(Type.Boolean()))
  })
])
export type TextFormat = Static<typeof TextFormat>

const Summary = Type.Optional(Nullable(StringEnum(['auto', 'concise', 'detailed'])))
const Reasoning = Type.Object({
  effort: ChatCompletionRequest.properties.reasoning_effort,
  summary: Summary,
  generate_summary: Summary,
  context: Type.Optional(Nullable(StringEnum(['auto', 'current_turn', 'all_turns']))),
  mode: Type.Optional(Nullable(Type.String()))
})

const chat = ChatCompletionRequest.properties

/** The request fields of `/v1/responses` that a response repeats. */
const echoed = {
  instructions: Type.Optional(Nullable(Type.String())),
  max_output_tokens: Type.Optional(Nullable(Type.Integer({ minimum: 1 }))),
  max_tool_calls: Type.Optional(Nullable(Type.Integer({ minimum: 1 }))),
  metadata: Type.Optional(Nullable(MapOf(Type.String({ maxLength: 512 })))),
  parallel_tool_calls: Type.Optional(Nullable(Type.Boolean())),
  previous_response_id: Type.Optional(Nullable(Type.String())),
  prompt_cache_key: chat.prompt_cache_key,
  prompt_cache_retention: chat.prompt_cache_retention,
  reasoning: Type.Optional(Nullable(Reasoning)),
  safety_identifier: chat.safety_identifier,
  service_tier: chat.service_tier,
  store: Type.Optional(Nullable(Type.Boolean())),
  temperature: chat.temperature,
  text: Type.Optional(Nullable(Type.Object({
    format: Type.Optional(Nullable(TextFormat)),
    verbosity: chat.verbosity
  }))),
  tool_choice: Type.Optional(Nullable(ResponseToolChoice)),
  tools: Type.Optional(Nullable(Type.Array(ResponseTool))),
  top_logprobs: chat.top_logprobs,
  top_p: chat.top_p,
  truncation: Type.Optional(Nullable(StringEnum(['auto', 'disabled']))),
  user: Type.Optional(Nullable(Type.String()))
}

/** Body of `POST /v1/responses`. Unlisted fields are rejected. */
export const ResponseRequest = Type.Object({
  model: Type.String({ minLength: 1 }),
  input: ResponseInput,
  ...echoed,
  background: Type.Optional(Nullable(Type.Boolean())),
  client_metadata: Type.Optional(Nullable(MapOf(Type.Unknown()))),
  include: Type.Optional(Nullable(Type.Array(StringEnum([
    'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources',
    'message.input_image.image_url', 'computer_call_output.output.image_url', 'code_interpreter_call.outputs',
    'reasoning.encrypted_content', 'message.output_text.logprobs'
  ])))),
  prompt_cache_options: chat.prompt_cache_options,
  stream: Type.Optional(Nullable(Type.Boolean())),
  stream_options: Type.Optional(Nullable(Type.Object({
    include_obfuscation: Type.Optional(Type.Boolean())
  }))),
  // Extensions of Tollgate, as for chat.
  fallbacks: chat.fallbacks,
  routing: chat.routing
})
export type ResponseRequest = Static<typeof ResponseRequest>

/** Body of `POST /v1/responses/input_tokens`: the fields of a request that count as input. */
export const InputTokensRequest = Type.Object({
  model: Type.Optional(Nullable(Type.String({ minLength: 1 }))),
  input: Type.Optional(Nullable(ResponseInput)),
  instructions: echoed.instructions,
  parallel_tool_calls: echoed.parallel_tool_calls,
  previous_response_id: echoed.previous_response_id,
  reasoning: echoed.reasoning,
  text: echoed.text,
  tool_choice: echoed.tool_choice,
  tools: echoed.tools,
  truncation: echoed.truncation
})
export type InputTokensRequest = Static<typeof InputTokensRequest>

export const InputTokenCount = Type.Object({
  object: Type.Literal('response.input_tokens'),
  input_tokens: Type.Integer({ examples: [14] })
})

// Responses are open, because a serializer drops unlisted fields of a closed schema.
const open = { additionalProperties: true }

export const ResponseUsage = Type.Object({
  cost: Type.Optional(Type.Number({ description: 'The charge, in USD.' })),
  input_tokens: Type.Number(),
  input_tokens_details: Type.Object({
    cached_tokens: Type.Number(),
    cache_write_tokens: Type.Optional(Type.Number())
  }, open),
  output_tokens: Type.Number(),
  output_tokens_details: Type.Object({ reasoning_tokens: Type.Number() }, open),
  total_tokens: Type.Number()
}, open)
export type ResponseUsage = Static<typeof ResponseUsage>

export const ResponseOutputItem = Type.Object({ type: Type.String(), id: Type.Optional(Type.String()) }, open)

/** Response of `POST /v1/responses`. Times are in Unix seconds. */
export const ResponseObject = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Number(),
  status: StringEnum(['completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete']),
  error: Type.Optional(Nullable(Type.Object({ code: Type.String(), message: Type.String() }, open))),
  incomplete_details: Type.Optional(Nullable(Type.Object({ reason: Type.Optional(Type.String()) }, open))),
  model: Type.String(),
  output: Type.Array(ResponseOutputItem),
  service_tier: Type.Optional(Nullable(Type.String())),
  store: Type.Optional(Nullable(Type.Boolean())),
  usage: Type.Optional(Nullable(ResponseUsage))
}, {
  ...open,
  examples: [{
    id: 'resp_6b9002b466ded1eef6eeea6e819ad6d0',
    object: 'response',
    created_at: 1_795_253_400,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'sandbox-chat',
    output: [{
      type: 'message',
      id: 'msg_8bac44dc922d63c84812014d5e6a1647',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Hello! Bonjour! Hola!', annotations: [], logprobs: [] }]
    }],
    service_tier: 'auto',
    store: true,
    usage: {
      input_tokens: 14,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 26,
      cost: 0.0000062
    }
  }]
})
export type ResponseObject = Static<typeof ResponseObject>

/** One event of a stream; `type` is also the name of the event. */
export const ResponseStreamEvent = Type.Object({ type: Type.String(), sequence_number: Type.Number() }, open)
export type ResponseStreamEvent = Static<typeof ResponseStreamEvent>

const Includes = Type.Optional(Type.Unsafe<string | string[]>({ type: ['string', 'array'], items: { type: 'string' } }))

/** Query of `GET /v1/responses/:id`. */
export const RetrieveQuery = Type.Object({
  include: Includes,
  'include[]': Includes,
  // A stored response cannot be streamed. Query values are strings.
  stream: Type.Optional(StringEnum(['false']))
})

export const DeletedResponse = Type.Object({
  id: Type.String({ examples: ['resp_6b9002b466ded1eef6eeea6e819ad6d0'] }),
  object: Type.Literal('response'),
  deleted: Type.Boolean()
})

/** Query of `GET /v1/responses/:id/input_items`. */
export const InputItemsQuery = Type.Object({
  after: Type.Optional(Type.String()),
  include: Includes,
  'include[]': Includes,
  limit: Type.Optional(Type.String({ pattern: '^([1-9]\\d?|100)$', description: 'From 1 to 100; 20 if absent.' })),
  order: Type.Optional(StringEnum(['asc', 'desc']))
})
export type InputItemsQuery = Static<typeof InputItemsQuery>

export const InputItemList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Type.Object({}, open), {
    examples: [[{
      type: 'message',
      id: 'msg_ec263b5292f07d23e3928d90aa3b65b3',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'Say hello in three languages.' }]
    }]]
  }),
  first_id: Nullable(Type.String({ examples: ['msg_ec263b5292f07d23e3928d90aa3b65b3'] })),
  last_id: Nullable(Type.String({ examples: ['msg_ec263b5292f07d23e3928d90aa3b65b3'] })),
  has_more: Type.Boolean()
})
export type InputItemList = Static<typeof InputItemList>
