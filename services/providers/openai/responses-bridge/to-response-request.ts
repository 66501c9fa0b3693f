import type { ChatCompletionRequest } from '../../../../schemas/openai/chat-completions.ts'
import type { ResponseFormat, Tool, ToolChoice } from '../../../../schemas/openai/chat-tools.ts'
import { isObject, type JsonObject } from '../../../shared/json.ts'
import { droppedFields } from '../../dropped-fields.ts'
import { unsupportedFeature } from '../../refuse.ts'
import { toInput, type InputOptions } from './to-input.ts'

/** Fields that have the same name and meaning in both APIs. */
const same = [
  'temperature', 'top_p', 'metadata', 'moderation', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention',
  'safety_identifier', 'service_tier', 'stream', 'user'
] as const

/** Fields that are translated, refused, or set where the request is sent; all others are dropped. */
const translated: ReadonlySet<string> = new Set([
  ...same, 'model', 'messages', 'stream_options', 'max_tokens', 'max_completion_tokens', 'response_format', 'verbosity',
  'reasoning_effort', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call', 'modalities',
  'audio'
])

export interface TranslationOptions extends InputOptions {
  /** Whether a summary of the reasoning is requested, for requests with an effort. */
  summarizes: boolean
}

/**
 * Translates a chat request to one for a response, and names what it drops. The output limit is set where it
 * is sent. Throws UpstreamError (400, not sent) for what has no equivalent.
 */
export function toResponseRequest (
  request: ChatCompletionRequest, options: TranslationOptions
): { body: JsonObject, dropped: string[] } {
  refuseUnsupported(request)
  const dropped = new Set(droppedFields(request, translated))
  const text = given({ format: formatOf(request.response_format), verbosity: request.verbosity })
  const body = given({
    ...Object.fromEntries(same.map(name => [name, request[name]])),
    model: request.model,
    input: toInput(request.messages, options, dropped),
    text: Object.keys(text).length === 0 ? null : text,
    reasoning: reasoningOf(request, options.summarizes),
    ...toolsOf(request)
  })
  return { body, dropped: [...dropped] }
}

/** Throws UpstreamError (400) for fields without which the request would mean something else. */
function refuseUnsupported (request: ChatCompletionRequest): void {
  if ((request.n ?? 1) > 1) throw unsupportedFeature('n', '`n` above 1 with this request; send separate requests')
  if (request.modalities?.includes('audio') === true) throw unsupportedFeature('modalities', 'requests for audio')
  if (request.functions !== undefined) throw unsupportedFeature('functions', '`functions`; use tools')
}

function reasoningOf (
  { reasoning_effort: effort }: ChatCompletionRequest, summarizes: boolean
): JsonObject | null {
  if (effort == null) return null
  return { effort, ...(summarizes && effort !== 'none' ? { summary: 'auto' } : {}) }
}

/** A schema is enforced only on request, as for chat. */
function formatOf (format: ResponseFormat | undefined): JsonObject | null {
  if (format === undefined || format.type === 'text') return null
  if (format.type === 'json_object') return { type: 'json_object' }
  const { name, description, schema = {}, strict } = format.json_schema
  return { type: 'json_schema', ...given({ name, description, schema, strict }) }
}

function toolsOf (
  { tools = [], tool_choice: choice, parallel_tool_calls: isParallel }: ChatCompletionRequest
): JsonObject {
  if (tools.length === 0) return {}
  return { tools: tools.map(toTool), tool_choice: choiceOf(choice), parallel_tool_calls: isParallel }
}

function toTool (tool: Tool): JsonObject {
  if (tool.type === 'custom') {
    const { name, description, format } = tool.custom
    const flat = format?.type === 'grammar' ? { type: 'grammar', ...format.grammar } : format
    return { type: 'custom', ...given({ name, description, format: flat }) }
  }
  const { name, description, parameters = { type: 'object', properties: {} }, strict } = tool.function
  // Without it, this API would be strict.
  return { type: 'function', ...given({ name, description, parameters }), strict: strict ?? false }
}

function choiceOf (choice: ToolChoice | undefined): unknown {
  if (choice === undefined || typeof choice === 'string') return choice
  if (choice.type !== 'allowed_tools') return flattened(choice)
  const { mode, tools } = choice.allowed_tools
  return { type: 'allowed_tools', mode, tools: tools.map(flattened) }
}

/** `{type: 'function', function: {name}}` as `{type: 'function', name}`. */
function flattened (named: JsonObject): JsonObject {
  const { type, function: called, custom } = named
  const inner = [called, custom].find(isObject)
  return inner === undefined ? named : { type, name: inner.name }
}

/** The members that have a value. */
function given (members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null))
}
