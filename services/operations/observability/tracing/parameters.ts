import type { Attributes } from '@opentelemetry/api'
import type { RequestSummary } from '../../../requests/request-summary.ts'
import { readConversation } from '../../../requests/request-headers.ts'
import { isObject, isText, type JsonObject } from '../../../shared/json.ts'
import { shownText } from '../../../shared/shown-text.ts'

/** Numeric attributes, and the names of their fields in all kinds of requests. */
const numbers: readonly (readonly [attribute: string, fields: readonly string[]])[] = [
  ['gen_ai.request.temperature', ['temperature']],
  ['gen_ai.request.top_p', ['top_p']],
  ['gen_ai.request.top_k', ['top_k']],
  ['gen_ai.request.frequency_penalty', ['frequency_penalty']],
  ['gen_ai.request.presence_penalty', ['presence_penalty']],
  ['gen_ai.request.seed', ['seed']],
  ['gen_ai.request.max_tokens', ['max_completion_tokens', 'max_output_tokens', 'max_tokens']]
]

const most = { stops: 16, stopLength: 64, conversationLength: 200 }

/**
 * The request parameters, without the prompt. `maxTokens` is the limit that the gateway has set instead of
 * the client's, or null. Source: OpenTelemetry semantic conventions 1.37, generative AI client.
 */
export function requestParameters (
  { body, headers }: RequestSummary['sent'], maxTokens: number | null
): Attributes {
  const request = isObject(body) ? body : {}
  const attributes: Attributes = {}
  for (const [attribute, fields] of numbers) {
    const value = fields.map(field => request[field]).find(value => typeof value === 'number')
    if (value !== undefined) attributes[attribute] = value
  }
  if (maxTokens !== null) attributes['gen_ai.request.max_tokens'] = maxTokens
  if (typeof request.n === 'number' && request.n !== 1) attributes['gen_ai.request.choice.count'] = request.n
  const stops = [request.stop ?? request.stop_sequences].flat().filter(isText)
  if (stops.length > 0) {
    attributes['gen_ai.request.stop_sequences'] = stops.slice(0, most.stops)
      .map(stop => shownText(stop, most.stopLength))
  }
  const conversation = isText(request.prompt_cache_key) ? request.prompt_cache_key : readConversation(headers)
  if (conversation !== null) {
    attributes['gen_ai.conversation.id'] = shownText(conversation, most.conversationLength)
  }
  return attributes
}

/** The kind of content selected by a format; null if the model decides. */
export function outputOf ({ body }: RequestSummary['sent']): 'json' | 'text' | null {
  const request: JsonObject = isObject(body) ? body : {}
  const text: JsonObject = isObject(request.text) ? request.text : {}
  const format = request.response_format ?? text.format
  const type = isObject(format) ? format.type : null
  return type === 'json_schema' || type === 'json_object' ? 'json' : type === 'text' ? 'text' : null
}
