import { createHash } from 'node:crypto'
import type { CountTokensRequest, CreateMessageRequest } from '../../../schemas/anthropic/messages.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ResponseFormat } from '../../../schemas/openai/chat-tools.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { chatTools } from './chat-tools.ts'
import { convertToChat } from './convert-to-chat.ts'

/** The request as a chat. Throws GatewayError 400 for files and for tools without a name or schema. */
export function toChat (request: CreateMessageRequest): ChatCompletionRequest {
  const { stream, stop_sequences: stops, temperature, top_p: topP, top_k: topK } = request
  const { metadata, service_tier: tier, fallbacks, routing } = request
  const user = metadata?.user_id
  return {
    ...promptOf(request),
    max_tokens: request.max_tokens,
    ...(stream === true ? { stream, stream_options: { include_usage: true } } : {}),
    ...(stops == null || stops.length === 0 ? {} : { stop: stops }),
    ...(temperature == null ? {} : { temperature }),
    ...(topP == null ? {} : { top_p: topP }),
    ...(topK == null ? {} : { top_k: topK }),
    ...(user == null || user === '' ? {} : { user: shortUser(user) }),
    ...(tier === 'standard_only' ? { service_tier: 'default' } : {}),
    ...(fallbacks == null ? {} : { fallbacks }),
    ...(routing == null ? {} : { routing })
  }
}

/** The part of a request that is counted as its prompt, as a chat. */
export function promptOf (request: CreateMessageRequest | CountTokensRequest): ChatCompletionRequest {
  const { model, output_config: output, output_format: own } = request
  const format = output?.format ?? own
  const effort = effortOf(request)
  return {
    model,
    messages: convertToChat(request),
    ...chatTools(request),
    ...(effort === null ? {} : { reasoning_effort: effort }),
    ...(format == null ? {} : { response_format: formatOf(format.schema) })
  }
}

type Effort = NonNullable<ChatCompletionRequest['reasoning_effort']>

/** From here on a budget of thoughts is that effort. */
const budgets = [[16_384, 'high'], [4096, 'medium'], [0, 'low']] as const

/** What the client says of thinking, the latest instruction first; null: nothing. */
function effortOf (request: CreateMessageRequest | CountTokensRequest): Effort | null {
  const { messages, thinking, output_config: output } = request
  if (thinking?.type === 'disabled') return 'none'
  const latest = messages.findLast(({ output_config: config }) => config?.effort != null)
  const effort = latest?.output_config?.effort ?? output?.effort
  if (effort != null) return effort
  if (thinking?.type !== 'enabled') return null
  return budgets.find(([least]) => thinking.budget_tokens >= least)?.[1] ?? null
}

function formatOf (schema: JsonObject): ResponseFormat {
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: isStrict(schema) } }
}

/** Whether a schema is in the subset that OpenAI enforces: closed objects, all properties required. */
function isStrict (schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (!isObject(schema)) return true
  const { properties, required, additionalProperties: others, type } = schema
  if (isObject(properties) || type === 'object') {
    const needed = Array.isArray(required) ? required : []
    const names = isObject(properties) ? Object.keys(properties) : []
    if (others !== false || !names.every(name => needed.includes(name))) return false
  }
  return Object.entries(schema).every(([key, value]) => {
    return !schemaKeys.has(key) || isStrict(isObject(value) && maps.has(key) ? Object.values(value) : value)
  })
}

const maps: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])
const schemaKeys: ReadonlySet<string> = new Set([...maps, 'items', 'anyOf', 'oneOf', 'allOf'])

/** The longest name of a user that every provider takes. */
const maxUser = 64

/** Agents put a whole object of ids there. */
function shortUser (id: string): string {
  return id.length <= maxUser ? id : createHash('sha256').update(id).digest('hex')
}
