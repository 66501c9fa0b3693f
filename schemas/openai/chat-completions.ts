import { Type, type Static } from '@sinclair/typebox'
import { ChatMessage, FunctionCall, TextContent, ToolCall } from './chat-messages.ts'
import { FunctionCallChoice, FunctionDefinition, ResponseFormat, Tool, ToolChoice } from './chat-tools.ts'
import { MapOf, Nullable, StringEnum } from '../shared/combinators.ts'
import { ErrorDetails } from './error.ts'
import { samplingFields } from './sampling.ts'
import { CompletionUsage } from './usage.ts'
import { WebhookUrl } from './webhooks.ts'

const Metadata = Nullable(MapOf(Type.String()))
const ServiceTier = Nullable(StringEnum(['auto', 'default', 'flex', 'scale', 'priority', 'fast']))

// The specification has no minimum; the live service rejects less than one.
const TokenBudget = Nullable(Type.Integer({ minimum: 1 }))

const AudioOutput = Type.Object({
  voice: Type.Unsafe<string | { id: string }>({
    type: ['string', 'object'], required: ['id'], properties: { id: Type.String() }
  }),
  format: StringEnum(['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16'])
})

const WebSearchOptions = Type.Object({
  search_context_size: Type.Optional(StringEnum(['low', 'medium', 'high'])),
  user_location: Type.Optional(Nullable(Type.Object({
    type: Type.Literal('approximate'),
    approximate: MapOf(Type.String())
  })))
})

/** An extension of Tollgate: parameters of a video. The model chooses absent ones. */
const VideoOptions = Type.Object({
  // Providers generate no shorter video: they would charge a fraction for one of their usual length.
  seconds: Type.Optional(Nullable(Type.Number({ minimum: 1, maximum: 3600 }))),
  size: Type.Optional(Nullable(Type.String({ pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$' }))),
  aspect_ratio: Type.Optional(Nullable(Type.String({ pattern: '^\\d{1,3}:\\d{1,3}$' }))),
  seed: Type.Optional(Nullable(Type.Integer())),
  audio: Type.Optional(Nullable(Type.Boolean()))
})

/** Body of `POST /v1/chat/completions`; fields not listed pass through to the provider. */
export const ChatCompletionRequest = Type.Object({
  model: Type.String({ minLength: 1 }),
  messages: Type.Array(ChatMessage, { minItems: 1 }),
  ...samplingFields,
  max_tokens: Type.Optional(TokenBudget),
  max_completion_tokens: Type.Optional(TokenBudget),
  logprobs: Type.Optional(Nullable(Type.Boolean())),
  top_logprobs: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 20 }))),
  response_format: Type.Optional(ResponseFormat),
  tools: Type.Optional(Type.Array(Tool)),
  tool_choice: Type.Optional(ToolChoice),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  functions: Type.Optional(Type.Array(FunctionDefinition, { minItems: 1, maxItems: 128 })),
  function_call: Type.Optional(FunctionCallChoice),
  modalities: Type.Optional(Nullable(Type.Array(StringEnum(['text', 'audio'])))),
  audio: Type.Optional(Nullable(AudioOutput)),
  prediction: Type.Optional(Nullable(Type.Object({ type: Type.Literal('content'), content: TextContent }))),
  reasoning_effort: Type.Optional(Nullable(
    StringEnum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']))),
  verbosity: Type.Optional(Nullable(StringEnum(['low', 'medium', 'high']))),
  service_tier: Type.Optional(ServiceTier),
  store: Type.Optional(Nullable(Type.Boolean())),
  metadata: Type.Optional(Metadata),
  safety_identifier: Type.Optional(Nullable(Type.String({ maxLength: 64 }))),
  prompt_cache_key: Type.Optional(Nullable(Type.String())),
  prompt_cache_retention: Type.Optional(Nullable(StringEnum(['in_memory', '24h']))),
  prompt_cache_options: Type.Optional(Type.Object({
    ttl: Type.Optional(StringEnum(['30m'])),
    mode: Type.Optional(StringEnum(['implicit', 'explicit']))
  })),
  web_search_options: Type.Optional(WebSearchOptions),
  moderation: Type.Optional(Nullable(Type.Object({ model: Type.String() }))),
  video: Type.Optional(Nullable(VideoOptions)),
  /** An extension of Tollgate, only for videos with the header `Prefer: respond-async`. */
  webhook_url: Type.Optional(WebhookUrl)
})
export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>

// Responses. They are open, because a serializer drops unlisted fields of a closed schema, and they require
// only what every provider sends: the live service omits `logprobs`, which the specification requires.
const open = { additionalProperties: true }
const FinishReason = StringEnum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

const TopLogprob = {
  token: Type.String(),
  logprob: Type.Number(),
  bytes: Nullable(Type.Array(Type.Number()))
}
const TokenLogprob = Type.Object({
  ...TopLogprob,
  top_logprobs: Type.Array(Type.Object(TopLogprob, open))
}, open)

export const ChatLogprobs = Type.Object({
  content: Type.Optional(Nullable(Type.Array(TokenLogprob))),
  refusal: Type.Optional(Nullable(Type.Array(TokenLogprob)))
}, open)
export type ChatLogprobs = Static<typeof ChatLogprobs>

/**
 * An extension of Tollgate: one generated video. Seconds, size and expiry are null if unknown.
 */
export const VideoResult = Type.Object({
  type: Type.Literal('video_url'),
  video_url: Type.Object({ url: Type.String() }, open),
  mime_type: Type.String(),
  duration_seconds: Nullable(Type.Number()),
  width: Nullable(Type.Number()),
  height: Nullable(Type.Number()),
  /** Unix seconds. */
  expires_at: Nullable(Type.Number()),
  job_id: Type.String(),
  /** False if the URL is the provider's, because the video could not be copied. */
  stored: Type.Optional(Type.Boolean())
}, open)
export type VideoResult = Static<typeof VideoResult>

export const ChatCompletionMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: Nullable(Type.String()),
  refusal: Type.Optional(Nullable(Type.String())),
  tool_calls: Type.Optional(Type.Array(ToolCall)),
  function_call: Type.Optional(FunctionCall),
  annotations: Type.Optional(Type.Array(MapOf(Type.Unknown()))),
  audio: Type.Optional(Nullable(MapOf(Type.Unknown()))),
  videos: Type.Optional(Type.Array(VideoResult))
}, open)
export type ChatCompletionMessage = Static<typeof ChatCompletionMessage>

/** Response of `POST /v1/chat/completions`. `created` is in Unix seconds. */
export const ChatCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Number(),
  model: Type.String(),
  choices: Type.Array(Type.Object({
    index: Type.Number(),
    message: ChatCompletionMessage,
    finish_reason: FinishReason,
    logprobs: Type.Optional(Nullable(ChatLogprobs))
  }, open)),
  usage: Type.Optional(CompletionUsage),
  service_tier: Type.Optional(Nullable(Type.String())),
  system_fingerprint: Type.Optional(Nullable(Type.String())),
  metadata: Type.Optional(Metadata),
  /** The job, and why its video failed if the status had already been sent. */
  error: Type.Optional(ErrorDetails),
  job_id: Type.Optional(Type.String())
}, {
  ...open,
  examples: [{
    id: 'chatcmpl-58d69c09a0ad4b209c57699c2829b293',
    object: 'chat.completion',
    created: 1_795_253_400,
    model: 'sandbox-chat',
    choices: [{
      index: 0,
      message: { role: 'assistant', content: 'Hello! Bonjour! Hola!', refusal: null },
      finish_reason: 'stop',
      logprobs: null
    }],
    usage: {
      prompt_tokens: 14,
      completion_tokens: 12,
      total_tokens: 26,
      cost: 0.0000062,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 }
    }
  }]
})
export type ChatCompletion = Static<typeof ChatCompletion>

export const ToolCallDelta = Type.Object({
  index: Type.Number(),
  id: Type.Optional(Type.String()),
  type: Type.Optional(StringEnum(['function', 'custom'])),
  function: Type.Optional(Type.Object({
    name: Type.Optional(Type.String()),
    arguments: Type.Optional(Type.String())
  }, open)),
  custom: Type.Optional(Type.Object({
    name: Type.Optional(Type.String()),
    input: Type.Optional(Type.String())
  }, open))
}, open)
export type ToolCallDelta = Static<typeof ToolCallDelta>

export const ChatCompletionDelta = Type.Object({
  role: Type.Optional(StringEnum(['developer', 'system', 'user', 'assistant', 'tool'])),
  content: Type.Optional(Nullable(Type.String())),
  refusal: Type.Optional(Nullable(Type.String())),
  tool_calls: Type.Optional(Type.Array(ToolCallDelta)),
  function_call: Type.Optional(Type.Partial(FunctionCall))
}, open)
export type ChatCompletionDelta = Static<typeof ChatCompletionDelta>

/** One event of a stream; `usage` is null on all but the last, whose `choices` are empty. */
export const ChatCompletionChunk = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion.chunk'),
  created: Type.Number(),
  model: Type.String(),
  choices: Type.Array(Type.Object({
    index: Type.Number(),
    delta: ChatCompletionDelta,
    finish_reason: Nullable(FinishReason),
    logprobs: Type.Optional(Nullable(ChatLogprobs))
  }, open)),
  usage: Type.Optional(Nullable(CompletionUsage)),
  service_tier: Type.Optional(Nullable(Type.String())),
  system_fingerprint: Type.Optional(Nullable(Type.String())),
  obfuscation: Type.Optional(Type.String())
}, open)
export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>
