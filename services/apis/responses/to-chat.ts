import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ResponseRequest } from '../../../schemas/openai/responses.ts'
import { toMessages, type NamedItem } from './to-messages.ts'
import { toChatTools } from './to-tools.ts'
import { foundTools } from './tool-search.ts'

/**
 * Translates a request to chat. `items` is its whole input, earlier turns included. Throws GatewayError 400
 * for what chat has no equivalent of.
 */
export function toChatRequest (request: ResponseRequest, items: readonly NamedItem[]): ChatCompletionRequest {
  const { text, reasoning, stream, include, top_logprobs: topLogprobs } = request
  const isStream = stream === true
  const wantsLogprobs = topLogprobs != null || include?.includes('message.output_text.logprobs') === true
  const effort = reasoning?.effort
  return {
    model: request.model,
    messages: toMessages(items, request.instructions ?? null),
    ...given({
      max_completion_tokens: request.max_output_tokens,
      temperature: request.temperature,
      top_p: request.top_p,
      reasoning_effort: effort,
      verbosity: text?.verbosity,
      response_format: responseFormat(text?.format),
      prompt_cache_key: request.prompt_cache_key,
      prompt_cache_retention: request.prompt_cache_retention,
      prompt_cache_options: request.prompt_cache_options,
      safety_identifier: request.safety_identifier,
      service_tier: request.service_tier,
      user: request.user,
      fallbacks: request.fallbacks,
      routing: request.routing,
      logprobs: wantsLogprobs ? true : null,
      top_logprobs: wantsLogprobs ? topLogprobs ?? 0 : null
    }),
    ...toolMembers(request, items),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {})
  }
}

function toolMembers (
  { tools, tool_choice: choice, parallel_tool_calls: isParallel }: ResponseRequest,
  items: readonly NamedItem[]
) {
  const members = toChatTools(tools ?? [], choice ?? null, foundTools(items))
  // Chat refuses it without tools.
  if (members.tools === undefined || isParallel == null) return members
  return { ...members, parallel_tool_calls: isParallel }
}

type Format = NonNullable<ResponseRequest['text']>['format']

function responseFormat (format: Format): ChatCompletionRequest['response_format'] | null {
  if (format == null || format.type === 'text') return null
  if (format.type === 'json_object') return { type: 'json_object' }
  const { name, schema, description, strict } = format
  return { type: 'json_schema', json_schema: { name, schema, ...given({ description, strict }) } }
}

type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], null | undefined> }

/** The members that have a value. */
function given<Members extends object> (members: Members): Given<Members> {
  const entries = Object.entries(members).filter(([, value]) => value != null)
  return Object.fromEntries(entries) as Given<Members>
}
