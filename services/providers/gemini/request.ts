import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { isObject, ownMember } from '../../shared/json.ts'
import { effectiveLimit } from '../../shared/request-fields.ts'
import type { ChatCall, UnmetParameters } from '../provider.ts'
import { unmetBy } from '../unmet.ts'
import { convertToContents } from './convert-to-contents.ts'
import type { ReadPart } from './media.ts'
import { geminiTraitsOf, type GeminiTraits } from './model-traits.ts'
import { geminiSchema } from './schema.ts'
import { toolsOf } from './tools.ts'
import {
  unsupportedField, type GenerateContentRequest, type GenerationConfig, type ThinkingConfig
} from './wire.ts'

interface Translated { body: GenerateContentRequest, dropped: string[] }

/** Translates a request. Throws UpstreamError (400) for what has no equivalent. Source: @google/genai 3.1. */
export async function toGenerateContentRequest (
  { body, model, outputLimit }: Pick<ChatCall, 'body' | 'model' | 'outputLimit'>, readPart: ReadPart
): Promise<Translated> {
  refuseUnmappable(body)
  const traits = geminiTraitsOf(model)
  const { contents, system } = await convertToContents(body.messages, traits, readPart)
  const { config, dropped } = configOf(body, traits, outputLimit)
  return {
    body: {
      contents,
      ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      ...toolsOf(body),
      ...(Object.keys(config).length === 0 ? {} : { generationConfig: config })
    },
    dropped: [...dropped, ...droppedOf(body)]
  }
}

/** The parameters of a request that are dropped, and those for which it is refused. */
export function unmetByGemini (request: ChatCompletionRequest, model: string): UnmetParameters {
  return unmetBy(() => {
    refuseUnmappable(request)
    toolsOf(request)
    return [...configOf(request, geminiTraitsOf(model), null).dropped, ...droppedOf(request)]
  })
}

const maxCandidates = 8

function refuseUnmappable ({ n, modalities }: ChatCompletionRequest): void {
  if ((n ?? 1) > maxCandidates) {
    throw unsupportedField(`'n' must be at most ${maxCandidates} for this model.`, 'n', 'integer_above_max_value')
  }
  if (modalities?.includes('audio') === true) throw unsupportedField('This model cannot answer with audio.', 'modalities')
}

function configOf (
  request: ChatCompletionRequest, traits: GeminiTraits, outputLimit: number | null
): { config: GenerationConfig, dropped: string[] } {
  const dropped: string[] = []
  const config: GenerationConfig = {}
  const set = <Key extends keyof GenerationConfig>(key: Key, value: GenerationConfig[Key] | null): void => {
    if (value !== undefined && value !== null) config[key] = value
  }
  set('maxOutputTokens', effectiveLimit({ body: request, outputLimit }))
  set('temperature', request.temperature)
  set('topP', request.top_p)
  set('topK', topKOf(request))
  set('candidateCount', request.n === 1 ? null : request.n)
  set('stopSequences', typeof request.stop === 'string' ? [request.stop] : request.stop)
  set('seed', request.seed == null ? null : asInt32(request.seed))
  for (const [field, key] of penalties) {
    if (traits.takesPenalties) set(key, request[field])
    else if (request[field]) dropped.push(field)
  }
  if (request.logprobs === true) {
    set('responseLogprobs', true)
    set('logprobs', request.top_logprobs)
  }
  const { response_format: format } = request
  if (format !== undefined && format.type !== 'text') set('responseMimeType', 'application/json')
  if (format?.type === 'json_schema' && format.json_schema.schema !== undefined) {
    set('responseJsonSchema', geminiSchema(format.json_schema.schema))
  }
  const thinking = thinkingOf(request, traits, dropped)
  if (Object.keys(thinking).length > 0) set('thinkingConfig', thinking)
  return { config, dropped }
}

const penalties = [['presence_penalty', 'presencePenalty'], ['frequency_penalty', 'frequencyPenalty']] as const

/** OpenAI's seeds have 64 bits, Gemini's 32; the mapping is deterministic. */
const asInt32 = (seed: number): number => Number(BigInt.asIntN(32, BigInt(seed)))

/** Not an OpenAI field, but many clients send it. */
function topKOf (request: ChatCompletionRequest): number | undefined {
  const value = 'top_k' in request ? request.top_k : undefined
  return typeof value === 'number' ? value : undefined
}

/** Thinking by `reasoning_effort` and `include_reasoning`, or by `extra_body` as at Google. */
function thinkingOf (
  request: ChatCompletionRequest, traits: GeminiTraits, dropped: string[]
): ThinkingConfig {
  const { reasoning_effort: effort } = request
  const thinking: ThinkingConfig = {}
  if (effort !== undefined && effort !== null) {
    const config = traits.efforts?.[effort]
    Object.assign(thinking, config, config !== undefined && effort !== 'none' ? { includeThoughts: true } : {})
    // Where thinking cannot be turned off, `none` is the lowest level.
    const isKept = effort === 'none' ? traits.efforts === null || traits.canStopThinking : config !== undefined
    if (!isKept) dropped.push('reasoning_effort')
  }
  const wanted = 'include_reasoning' in request ? request.include_reasoning : undefined
  if (typeof wanted === 'boolean') thinking.includeThoughts = wanted
  return { ...thinking, ...googleThinking(request) }
}

/** `extra_body.google.thinking_config`. Source: ai.google.dev, "OpenAI compatibility". */
function googleThinking (request: ChatCompletionRequest): ThinkingConfig {
  const extra = 'extra_body' in request ? request.extra_body : undefined
  const google = isObject(extra) ? extra.google : undefined
  const config = isObject(google) ? google.thinking_config : undefined
  if (!isObject(config)) return {}
  const { thinking_budget: budget, thinking_level: level, include_thoughts: thoughts } = config
  return {
    ...(typeof budget === 'number' ? { thinkingBudget: budget } : {}),
    ...(typeof level === 'string' ? { thinkingLevel: level.toUpperCase() } : {}),
    ...(typeof thoughts === 'boolean' ? { includeThoughts: thoughts } : {})
  }
}

/** Values that match Gemini's behaviour, so that dropping them changes nothing. */
const harmless: Readonly<Record<string, readonly unknown[]>> = {
  parallel_tool_calls: [true],
  service_tier: ['auto', 'default'],
  store: [false],
  verbosity: ['medium']
}

/** Fields that are translated or refused; all others are dropped. */
const read = new Set([
  'model', 'messages', 'stream', 'stream_options', 'temperature', 'top_p', 'top_k', 'n', 'stop', 'seed', 'presence_penalty',
  'frequency_penalty', 'max_tokens', 'max_completion_tokens', 'logprobs', 'top_logprobs', 'response_format', 'tools',
  'tool_choice', 'functions', 'function_call', 'modalities', 'reasoning_effort', 'include_reasoning', 'extra_body'
])

function droppedOf (request: ChatCompletionRequest): string[] {
  const isMissed = ([field, value]: [string, unknown]): boolean => {
    if (read.has(field) || value === undefined || value === null) return false
    return ownMember(harmless, field)?.includes(value) !== true
  }
  return Object.entries(request).filter(isMissed).map(([field]) => field)
}
