import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { effectiveLimit } from '../../shared/request-fields.ts'
import type { ChatCall, UnmetParameters } from '../provider.ts'
import { schemaInstruction } from '../schema-instruction.ts'
import { unmetBy } from '../unmet.ts'
import { cacheControlIn, convertToMessages } from './convert-to-messages.ts'
import { refuseUnsupportedFields, translatedFields } from './fields.ts'
import { droppedFields } from '../dropped-fields.ts'
import { invalid } from '../refuse.ts'
import { adaptSchema } from './schema.ts'
import { isThinking, readThinking } from './thinking.ts'
import { isForced, readTools } from './tools.ts'
import { anthropicTraitsOf, type AnthropicTraits } from './model-traits.ts'
import type { MessagesRequest, TextBlock } from './wire.ts'

type Translated = Pick<ChatCall, 'body' | 'model' | 'outputLimit' | 'maxOutput'>

export interface Translation { body: MessagesRequest, dropped: string[] }

/**
 * Translates a chat request for a model with the given traits. Throws UpstreamError (400, not sent) for what
 * has no equivalent.
 */
export function toMessagesRequest (call: Translated, traits = anthropicTraitsOf(call.model)): Translation {
  const { body: request, model } = call
  refuseUnsupportedFields(request)
  const { system, turns, dropped } = convertToMessages(request.messages)
  if (traits.thinking === 'none') removeThoughts(turns)
  const maxTokens = limitOf(call, traits)
  const tools = readTools(request, turns, traits, dropped)
  const thought = readThinking({ request, traits, turns, maxTokens, isForced: isForced(tools) }, dropped)
  const { format, instruction } = readFormat(request, traits, dropped)
  const control = cacheControlIn(request, dropped)
  const body: MessagesRequest = {
    model,
    max_tokens: maxTokens,
    ...nonEmpty('system', [...system, ...instruction]),
    messages: turns,
    ...(request.stream === true ? { stream: true } : {}),
    ...nonEmpty('stop_sequences', stopsOf(request)),
    ...samplingOf(request, traits.sampling && !isThinking(thought), dropped),
    ...tools,
    ...(thought.thinking === undefined ? {} : { thinking: thought.thinking }),
    ...outputConfig({ effort: thought.effort, format }),
    ...userOf(request),
    ...serviceTierOf(request),
    ...(control === null ? {} : { cache_control: control })
  }
  return { body, dropped: [...droppedFields(request, translatedFields), ...dropped] }
}

/** The parameters of a request that are dropped, and those for which it is refused. */
export function unmetByClaude (request: ChatCompletionRequest, model: string): UnmetParameters {
  return unmetBy(() => toMessagesRequest({ body: request, model, outputLimit: null }).dropped)
}

function removeThoughts (turns: MessagesRequest['messages']): void {
  for (const turn of turns) {
    turn.content = turn.content.filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  }
}

/** `max_tokens`: the client's limit, the one set by the balance, or the model's own, which caps both. */
function limitOf ({ body, outputLimit, maxOutput }: Translated, traits: AnthropicTraits): number {
  const wanted = effectiveLimit({ body, outputLimit })
  const most = maxOutput ?? null
  if (wanted === null) return most ?? traits.maxOutput
  return Math.min(wanted, most ?? wanted)
}

function stopsOf ({ stop }: ChatCompletionRequest): string[] {
  const stops = [stop ?? []].flat().filter(text => text !== '')
  if (stops.some(text => text.trim() === '')) {
    throw invalid('stop', 'A stop sequence for this model must not be only white space.')
  }
  return stops
}

/** OpenAI's defaults equal Anthropic's, so they are neither sent nor reported as dropped. */
function samplingOf (
  request: ChatCompletionRequest, isFree: boolean, dropped: Set<string>
): Pick<MessagesRequest, 'temperature' | 'top_p' | 'top_k'> {
  const { temperature, top_p: topP, top_k: topK }: ChatCompletionRequest & { top_k?: unknown } = request
  const given = {
    ...(typeof temperature === 'number' && temperature !== 1 ? { temperature: Math.min(temperature, 1) } : {}),
    ...(typeof topP === 'number' && topP !== 1 ? { top_p: topP } : {}),
    ...(typeof topK === 'number' ? { top_k: topK } : {})
  }
  if (!isFree) {
    for (const name of Object.keys(given)) dropped.add(name)
    return {}
  }
  if (typeof temperature === 'number' && temperature > 1) dropped.add('temperature')
  if (given.temperature === undefined || given.top_p === undefined) return given
  // Newer models accept only one of the two.
  dropped.add('top_p')
  const { top_p: _, ...others } = given
  return others
}

interface Format {
  format?: {
    type: 'json_schema'
    schema: Record<string, unknown>
  }
  instruction: TextBlock[]
}

/** `response_format`: enforced where the model can, else an instruction, and reported as dropped. */
function readFormat (
  { response_format: wanted }: ChatCompletionRequest, traits: AnthropicTraits, dropped: Set<string>
): Format {
  if (wanted === undefined || wanted.type === 'text') return { instruction: [] }
  const schema = wanted.type === 'json_schema' ? wanted.json_schema.schema : undefined
  const adapted = schema !== undefined && traits.structured ? adaptSchema(schema) : null
  if (adapted !== null) return { format: { type: 'json_schema', schema: adapted }, instruction: [] }
  dropped.add('response_format')
  return { instruction: [{ type: 'text', text: schemaInstruction(schema) }] }
}

function outputConfig (
  config: NonNullable<MessagesRequest['output_config']>
): Pick<MessagesRequest, 'output_config'> {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
  return Object.keys(given).length === 0 ? {} : { output_config: given }
}

function userOf (
  { safety_identifier: identifier, user }: ChatCompletionRequest
): Pick<MessagesRequest, 'metadata'> {
  const id = identifier ?? user
  return id === undefined || id === '' ? {} : { metadata: { user_id: id } }
}

function serviceTierOf (
  { service_tier: tier }: ChatCompletionRequest
): Pick<MessagesRequest, 'service_tier'> {
  if (tier === 'default') return { service_tier: 'standard_only' }
  return tier === 'auto' ? { service_tier: 'auto' } : {}
}

function nonEmpty<Key extends string, Item> (key: Key, items: Item[]): Partial<Record<Key, Item[]>> {
  const given: Partial<Record<Key, Item[]>> = {}
  if (items.length > 0) given[key] = items
  return given
}
