import { Type, type Static } from '@sinclair/typebox'
import { Nullable, StringEnum, StringOrItems, Tagged } from '../shared/combinators.ts'

// Source: OpenAI specification 2.3.0, ChatCompletionRequestMessage. Objects are open: unlisted fields
// pass through to the provider.

const PromptCacheBreakpoint = Type.Object({ mode: Type.Literal('explicit') })

export const TextPart = Type.Object({
  type: Type.Literal('text'),
  text: Type.String(),
  prompt_cache_breakpoint: Type.Optional(PromptCacheBreakpoint)
})
export type TextPart = Static<typeof TextPart>

export const ImagePart = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Object({
    // Not `format: uri`, which would scan megabytes of base64 in data: URLs.
    url: Type.String(),
    detail: Type.Optional(StringEnum(['auto', 'low', 'high', 'original']))
  }),
  prompt_cache_breakpoint: Type.Optional(PromptCacheBreakpoint)
})
export type ImagePart = Static<typeof ImagePart>

export const AudioPart = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String(), format: StringEnum(['wav', 'mp3']) }),
  prompt_cache_breakpoint: Type.Optional(PromptCacheBreakpoint)
})
export type AudioPart = Static<typeof AudioPart>

export const FilePart = Type.Object({
  type: Type.Literal('file'),
  file: Type.Object({
    filename: Type.Optional(Type.String()),
    file_data: Type.Optional(Type.String()),
    file_id: Type.Optional(Type.String())
  }),
  prompt_cache_breakpoint: Type.Optional(PromptCacheBreakpoint)
})
export type FilePart = Static<typeof FilePart>

/** Not OpenAI's: several other providers accept videos in this form. */
export const VideoPart = Type.Object({
  type: Type.Literal('video_url'),
  video_url: Type.Object({ url: Type.String() })
})
export type VideoPart = Static<typeof VideoPart>

export const RefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() })
export type RefusalPart = Static<typeof RefusalPart>

export const UserPart = Tagged('type', [TextPart, ImagePart, AudioPart, FilePart, VideoPart])
export type UserPart = Static<typeof UserPart>

export const TextContent = StringOrItems(Tagged('type', [TextPart]))
export type TextContent = Static<typeof TextContent>

// Explicit only where the schema also serializes responses, because a serializer drops unlisted fields.
const open = { additionalProperties: true }

export const FunctionToolCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }, open)
}, open)
export type FunctionToolCall = Static<typeof FunctionToolCall>

export const CustomToolCall = Type.Object({
  id: Type.String(),
  type: Type.Literal('custom'),
  custom: Type.Object({ name: Type.String(), input: Type.String() }, open)
}, open)
export type CustomToolCall = Static<typeof CustomToolCall>

export const ToolCall = Tagged('type', [FunctionToolCall, CustomToolCall])
export type ToolCall = Static<typeof ToolCall>

export const FunctionCall = Type.Object({ name: Type.String(), arguments: Type.String() }, open)
export type FunctionCall = Static<typeof FunctionCall>

export const SystemMessage = Type.Object({
  role: StringEnum(['developer', 'system']),
  content: TextContent,
  name: Type.Optional(Type.String())
})
export type SystemMessage = Static<typeof SystemMessage>

export const UserMessage = Type.Object({
  role: Type.Literal('user'),
  content: StringOrItems(UserPart),
  name: Type.Optional(Type.String())
})
export type UserMessage = Static<typeof UserMessage>

export const AssistantMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: Type.Optional(Nullable(StringOrItems(Tagged('type', [TextPart, RefusalPart])))),
  refusal: Type.Optional(Nullable(Type.String())),
  name: Type.Optional(Type.String()),
  audio: Type.Optional(Nullable(Type.Object({ id: Type.String() }))),
  tool_calls: Type.Optional(Type.Array(ToolCall)),
  function_call: Type.Optional(Nullable(FunctionCall))
})
export type AssistantMessage = Static<typeof AssistantMessage>

export const ToolMessage = Type.Object({
  role: Type.Literal('tool'),
  content: TextContent,
  tool_call_id: Type.String()
})
export type ToolMessage = Static<typeof ToolMessage>

export const FunctionMessage = Type.Object({
  role: Type.Literal('function'),
  content: Nullable(Type.String()),
  name: Type.String()
})
export type FunctionMessage = Static<typeof FunctionMessage>

export const ChatMessage = Tagged('role', [
  SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage
])
export type ChatMessage = Static<typeof ChatMessage>
