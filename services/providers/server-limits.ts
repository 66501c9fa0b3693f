import { isObject, type JsonObject } from '../shared/json.ts'
import { outputLimitOf } from '../shared/request-fields.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { ChatCall, CompletionCall, ServerLimits } from './provider.ts'
import { tokenCount } from './usage.ts'

/**
 * Members of a row of `GET /models` that have the context window: vLLM and SGLang `max_model_len`, Groq
 * `context_window`, Together, OpenRouter, Fireworks `context_length`, Mistral `max_context_length`, LM Studio
 * `loaded_context_length`, llama.cpp `meta.n_ctx`. Read in November 2026.
 */
const windowMembers = [
  'loaded_context_length', 'max_model_len', 'context_window', 'context_length', 'max_context_length', 'n_ctx'
]
const outputMembers = ['max_completion_tokens', 'max_output_tokens']

/** The lengths that a row of a server's list of models states. */
export function statedLimits (model: JsonObject): ServerLimits {
  const places = [model, model.meta, model.top_provider].filter(isObject)
  return limitsFrom(firstCount(places, windowMembers), firstCount(places, outputMembers))
}

function firstCount (places: readonly JsonObject[], names: readonly string[]): number | undefined {
  const counts = places.flatMap(place => names.map(name => tokenCount(place[name])))
  return counts.find(count => count !== undefined && count > 0)
}

function limitsFrom (contextWindow: number | undefined, maxOutput: number | undefined): ServerLimits {
  return {
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutput === undefined ? {} : { maxOutput })
  }
}

/** Whether the output limit of a call was set by the gateway alone. */
export function isOwnLimit (
  { body, outputLimit }: Pick<ChatCall | CompletionCall, 'body' | 'outputLimit'>
): boolean {
  return outputLimit !== null && outputLimitOf(body) === null
}

const aboutLength = /max_?(completion_|new_|output_)?tokens|completion tokens|context[ _](length|window|size)/i

/** Whether a refusal may be about the length of the answer, alone or together with the prompt. */
export function isAboutLength ({ message, details: { status } }: UpstreamError): boolean {
  return (status === 400 || status === 422) && aboutLength.test(message)
}

/** How servers word their context window: vLLM, SGLang, OpenRouter; Mistral; TGI and Together. */
const windowWords = [
  /context (?:length|window|size)\D{0,20}(\d{1,12})/i,
  /\b(\d{1,12}) maximum context length/i,
  /max_new_tokens\W+must be <= (\d+)/i
]
/** And the longest answer: OpenAI; Groq; DeepSeek and DashScope; Anthropic. */
const outputWords = [
  /at most (\d+) completion tokens/i,
  /max_(?:completion_)?tokens\W+must be less than or equal to \W?(\d+)/i,
  /max_tokens (?:is|should be) \[\d+, ?(\d+)\]/i,
  /max_tokens: \d+ > (\d+)/i
]

/** The lengths that a refusal names. */
export function limitsInRefusal ({ message }: UpstreamError): ServerLimits {
  const numberIn = (patterns: readonly RegExp[]): number | undefined => {
    const words = patterns.map(pattern => pattern.exec(message)?.[1]).find(found => found !== undefined)
    return words === undefined ? undefined : tokenCount(Number(words))
  }
  return limitsFrom(numberIn(windowWords), numberIn(outputWords))
}
