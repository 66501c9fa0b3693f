import { Type, type Static } from '@sinclair/typebox'
import { ItemsOrString, MapOf, Nullable, StringEnum, Tagged } from '../shared/combinators.ts'
import { samplingFields } from '../openai/sampling.ts'
import { CacheMark, MessageBlockParam, TextBlockParam } from './message-blocks.ts'

// Source: @anthropic-ai/sdk 1.12.0, resources/messages and resources/beta/messages; for `temperature`,
// `top_p` and `top_k` API version 2023-06-01.

const Effort = Type.Optional(Nullable(StringEnum(['low', 'medium', 'high', 'xhigh', 'max'])))

/** The last two fields are for messages of the role `system` within a conversation. */
const MessageParam = Type.Object({
  role: StringEnum(['user', 'assistant', 'system']),
  content: Type.Optional(ItemsOrString(MessageBlockParam)),
  output_config: Type.Optional(Nullable(Type.Object({ effort: Effort }))),
  clear_at: Type.Optional(Nullable(StringEnum(['next_user_message', 'never'])))
})
export type MessageParam = Static<typeof MessageParam>

/** A tool of the client, or one of Anthropic's, which has its own type. */
const MessageTool = Type.Object({
  type: Type.Optional(Nullable(Type.String())),
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  input_schema: Type.Optional(MapOf(Type.Unknown())),
  strict: Type.Optional(Nullable(Type.Boolean())),
  cache_control: Type.Optional(CacheMark),
  input_examples: Type.Optional(Nullable(Type.Array(MapOf(Type.Unknown())))),
  defer_loading: Type.Optional(Nullable(Type.Boolean())),
  allowed_callers: Type.Optional(Nullable(Type.Array(Type.String()))),
  max_uses: Type.Optional(Nullable(Type.Integer({ minimum: 1 })))
})
export type MessageTool = Static<typeof MessageTool>

const single = { disable_parallel_tool_use: Type.Optional(Type.Boolean()) }
const MessageToolChoice = Tagged('type', [
  Type.Object({ type: StringEnum(['auto', 'any']), ...single }),
  Type.Object({ type: Type.Literal('tool'), name: Type.String(), ...single }),
  Type.Object({ type: Type.Literal('none') })
])

const Display = { display: Type.Optional(Nullable(StringEnum(['summarized', 'omitted']))) }
const ThinkingConfig = Tagged('type', [
  Type.Object({ type: Type.Literal('enabled'), budget_tokens: Type.Integer({ minimum: 1024 }), ...Display }),
  Type.Object({ type: Type.Literal('adaptive'), ...Display }),
  Type.Object({ type: StringEnum(['disabled', 'between_tools']) })
])

const OutputFormat = Nullable(Type.Object({ type: Type.Literal('json_schema'), schema: MapOf(Type.Unknown()) }))

const promptFields = {
  model: Type.String({ minLength: 1 }),
  messages: Type.Array(MessageParam, { minItems: 1 }),
  system: Type.Optional(ItemsOrString(TextBlockParam)),
  tools: Type.Optional(Type.Array(MessageTool)),
  tool_choice: Type.Optional(MessageToolChoice),
  thinking: Type.Optional(ThinkingConfig),
  output_config: Type.Optional(Type.Object({
    effort: Effort,
    format: Type.Optional(OutputFormat)
  })),
  output_format: Type.Optional(OutputFormat),
  cache_control: Type.Optional(CacheMark),
  context_management: Type.Optional(Nullable(Type.Object({
    edits: Type.Optional(Type.Array(Type.Object({ type: Type.String() })))
  }))),
  speed: Type.Optional(Nullable(StringEnum(['standard', 'fast']))),
  thread: Type.Optional(Nullable(Type.Object({ type: Type.String() })))
}

/** Closed: an unlisted field could change the price of a request. */
const closed = { additionalProperties: false }

/** Body of `POST /v1/messages`. */
export const CreateMessageRequest = Type.Object({
  ...promptFields,
  max_tokens: Type.Integer({ minimum: 1 }),
  stream: Type.Optional(Nullable(Type.Boolean())),
  stop_sequences: Type.Optional(Nullable(Type.Array(Type.String()))),
  temperature: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  top_p: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  top_k: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  metadata: Type.Optional(Nullable(Type.Object({ user_id: Type.Optional(Nullable(Type.String())) }))),
  service_tier: Type.Optional(Nullable(StringEnum(['auto', 'standard_only']))),
  container: Type.Optional(Type.Unknown()),
  inference_geo: Type.Optional(Nullable(Type.String())),
  mcp_servers: Type.Optional(Nullable(Type.Array(Type.Unknown()))),
  fallbacks: samplingFields.fallbacks,
  routing: samplingFields.routing
}, closed)
export type CreateMessageRequest = Static<typeof CreateMessageRequest>

/** Body of `POST /v1/messages/count_tokens`. */
export const CountTokensRequest = Type.Object({
  ...promptFields,
  mcp_servers: Type.Optional(Nullable(Type.Array(Type.Unknown())))
}, closed)
export type CountTokensRequest = Static<typeof CountTokensRequest>

/** Response of `POST /v1/messages/count_tokens`. */
export const TokenCount = Type.Object({ input_tokens: Type.Integer({ examples: [14] }) })

const Tokens = Type.Integer()

const MessageUsage = Type.Object({
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_creation_input_tokens: Nullable(Tokens),
  cache_read_input_tokens: Nullable(Tokens),
  cache_creation: Nullable(Type.Object({
    ephemeral_5m_input_tokens: Tokens, ephemeral_1h_input_tokens: Tokens
  })),
  output_tokens_details: Nullable(Type.Object({ thinking_tokens: Tokens })),
  server_tool_use: Type.Null(),
  service_tier: Nullable(StringEnum(['standard', 'priority', 'batch']))
}, { additionalProperties: true })
export type MessageUsage = Static<typeof MessageUsage>

const open = { additionalProperties: true }

const MessageBlock = Tagged('type', [
  Type.Object({ type: Type.Literal('text'), text: Type.String() }, open),
  Type.Object({ type: Type.Literal('thinking'), thinking: Type.String(), signature: Type.String() }, open),
  Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() }, open),
  Type.Object({
    type: Type.Literal('tool_use'), id: Type.String(), name: Type.String(), input: MapOf(Type.Unknown())
  }, open)
])
export type MessageBlock = Static<typeof MessageBlock>

const StopReason = StringEnum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal'])
export type MessageStopReason = Static<typeof StopReason>

const StopDetails = Nullable(Type.Object({
  type: Type.Literal('refusal'), category: Nullable(Type.String()), explanation: Nullable(Type.String())
}))

/** Response of `POST /v1/messages`, and the message of `message_start`, whose `stop_reason` is null. */
export const CreatedMessage = Type.Object({
  id: Type.String(),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String(),
  content: Type.Array(MessageBlock),
  stop_reason: Nullable(StopReason),
  stop_sequence: Nullable(Type.String()),
  stop_details: StopDetails,
  usage: MessageUsage,
  container: Type.Null(),
  diagnostics: Type.Null()
}, {
  ...open,
  examples: [{
    id: 'msg_445c49c5ba5d4abfbf6a40ebac9909c1',
    type: 'message',
    role: 'assistant',
    model: 'sandbox-chat',
    content: [{ type: 'text', text: 'Hello! Bonjour! Hola!' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 14,
      output_tokens: 12,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens_details: { thinking_tokens: 0 },
      server_tool_use: null,
      service_tier: 'standard'
    },
    container: null,
    diagnostics: null
  }]
})
export type CreatedMessage = Static<typeof CreatedMessage>

const at = { index: Type.Integer() }
const Delta = Tagged('type', [
  Type.Object({ type: Type.Literal('text_delta'), text: Type.String() }),
  Type.Object({ type: Type.Literal('thinking_delta'), thinking: Type.String() }),
  Type.Object({ type: Type.Literal('signature_delta'), signature: Type.String() }),
  Type.Object({ type: Type.Literal('input_json_delta'), partial_json: Type.String() })
])

/** One event of a streamed response. */
export const MessageEvent = Tagged('type', [
  Type.Object({ type: Type.Literal('message_start'), message: CreatedMessage }),
  Type.Object({ type: Type.Literal('content_block_start'), ...at, content_block: MessageBlock }),
  Type.Object({ type: Type.Literal('content_block_delta'), ...at, delta: Delta }),
  Type.Object({ type: Type.Literal('content_block_stop'), ...at }),
  Type.Object({
    type: Type.Literal('message_delta'),
    delta: Type.Object({
      stop_reason: StopReason,
      stop_sequence: Nullable(Type.String()),
      stop_details: StopDetails,
      container: Type.Null()
    }),
    usage: MessageUsage
  }),
  Type.Object({ type: Type.Literal('message_stop') }),
  Type.Object({ type: Type.Literal('ping') })
])
export type MessageEvent = Static<typeof MessageEvent>
