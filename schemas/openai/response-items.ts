import { Type, type Static, type TObject } from '@sinclair/typebox'
import { Nullable, StringEnum, StringOrItems, Tagged } from '../shared/combinators.ts'
import { ResponseTool } from './response-tools.ts'

// Source: openai@7.55.0 resources/responses/responses.d.ts, ResponseInputItem. Objects are open:
// clients send items back as received, with ids and states that a request does not need.

const Id = Type.Optional(Nullable(Type.String()))
const CacheBreakpoint = Type.Optional(Type.Object({
  mode: Type.Literal('explicit'),
  // The longer one has no price.
  ttl: Type.Optional(StringEnum(['30m']))
}))

export const InputText = Type.Object({
  type: Type.Literal('input_text'),
  text: Type.String(),
  prompt_cache_breakpoint: CacheBreakpoint
})

const InputImage = Type.Object({
  type: Type.Literal('input_image'),
  image_url: Type.Optional(Nullable(Type.String())),
  file_id: Id,
  detail: Type.Optional(Nullable(StringEnum(['auto', 'low', 'high', 'original']))),
  prompt_cache_breakpoint: CacheBreakpoint
})

const InputFile = Type.Object({
  type: Type.Literal('input_file'),
  file_data: Type.Optional(Nullable(Type.String())),
  file_url: Type.Optional(Nullable(Type.String())),
  file_id: Id,
  filename: Type.Optional(Nullable(Type.String())),
  detail: Type.Optional(Nullable(StringEnum(['auto', 'low', 'high']))),
  prompt_cache_breakpoint: CacheBreakpoint
})

const InputAudio = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String(), format: StringEnum(['wav', 'mp3']) })
})

const OutputTextPart = Type.Object({ type: Type.Literal('output_text'), text: Type.String() })
const OutputRefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() })

const inputParts = [InputText, InputImage, InputFile]
export const InputPart = Tagged('type', [...inputParts, InputAudio])
export type InputPart = Static<typeof InputPart>
const MessagePart = Tagged('type', [...inputParts, InputAudio, OutputTextPart, OutputRefusalPart])
export type MessagePart = Static<typeof MessagePart>

const role = StringEnum(['user', 'assistant', 'system', 'developer'])
const content = Type.Unsafe<string | MessagePart[]>({ type: ['string', 'array'], items: MessagePart })

/** A message; its `type` may be left out. */
const InputMessage = Type.Object({ type: Type.Optional(Type.Literal('message')), role, content, id: Id })
const TypedMessage = Type.Object({ type: Type.Literal('message'), role, content, id: Id })

const ToolOutput = Type.Unsafe<string | InputPart[]>({
  type: ['string', 'array'], items: Tagged('type', inputParts)
})

const call = { call_id: Type.String({ minLength: 1 }), id: Id }
const named = {
  ...call, name: Type.String({ minLength: 1 }), namespace: Type.Optional(Nullable(Type.String()))
}
const FunctionCallItem = Type.Object({
  type: Type.Literal('function_call'), ...named, arguments: Type.String()
})
const CustomToolCallItem = Type.Object({
  type: Type.Literal('custom_tool_call'), ...named, input: Type.String()
})

const withOutput = { ...call, output: ToolOutput }
const FunctionCallOutput = Type.Object({ type: Type.Literal('function_call_output'), ...withOutput })
const CustomToolCallOutput = Type.Object({ type: Type.Literal('custom_tool_call_output'), ...withOutput })

const search = { call_id: Id, id: Id, execution: Type.Optional(Nullable(StringEnum(['server', 'client']))) }
const ToolSearchCallItem = Type.Object({
  type: Type.Literal('tool_search_call'), ...search, arguments: Type.Unknown()
})
const ToolSearchOutputItem = Type.Object({
  type: Type.Literal('tool_search_output'), ...search, tools: Type.Array(ResponseTool)
})
export type ToolSearchItem = Static<typeof ToolSearchCallItem> | Static<typeof ToolSearchOutputItem>

const ReasoningItem = Type.Object({
  type: Type.Literal('reasoning'),
  summary: Type.Optional(Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() }))),
  content: Type.Optional(Nullable(Type.Array(Type.Object({
    type: Type.Literal('reasoning_text'), text: Type.String()
  })))),
  encrypted_content: Type.Optional(Nullable(Type.String())),
  id: Id
})
export type ReasoningItem = Static<typeof ReasoningItem>

const ItemReference = Type.Object({ type: Type.Literal('item_reference'), id: Type.String({ minLength: 1 }) })

/** Tools that may be called from here on, as Codex sends all of its tools. */
const AdditionalToolsItem = Type.Object({
  type: Type.Literal('additional_tools'), id: Id, tools: Type.Array(ResponseTool)
})

/** Items that only a provider with a Responses API can read. */
export const nativeItemTypes = [
  'apply_patch_call', 'apply_patch_call_output', 'code_interpreter_call', 'compaction',
  'compaction_trigger', 'computer_call', 'computer_call_output', 'configuration_update', 'file_search_call',
  'image_generation_call', 'local_shell_call', 'local_shell_call_output', 'mcp_approval_request',
  'mcp_approval_response', 'mcp_call', 'mcp_list_tools', 'program', 'program_output', 'shell_call',
  'shell_call_output', 'web_search_call'
] as const
const NativeItem = Type.Object({ type: StringEnum(nativeItemTypes), id: Id })

const typedItems = [
  TypedMessage, FunctionCallItem, FunctionCallOutput, CustomToolCallItem, CustomToolCallOutput, ReasoningItem,
  ItemReference, ToolSearchCallItem, ToolSearchOutputItem,
  AdditionalToolsItem, NativeItem
] as const satisfies readonly TObject[]

/** An item of `input`: one with a `type`, or a message. */
type AnyItem = Static<typeof InputMessage> | Static<(typeof typedItems)[number]>
export const ResponseInputItem = Type.Unsafe<AnyItem>({
  type: 'object',
  if: { required: ['type'], properties: { type: {} } },
  then: Tagged('type', [...typedItems]),
  else: InputMessage
})
export type ResponseInputItem = Static<typeof ResponseInputItem>

export const ResponseInput = StringOrItems(ResponseInputItem)
export type ResponseInput = Static<typeof ResponseInput>
