import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { isObject, ownMember } from '../../shared/json.ts'
import { unsupportedFeature } from './refuse.ts'

/** Fields that are translated or refused; all others are dropped. */
const translated: ReadonlySet<string> = new Set([
  'model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k',
  'stop', 'n', 'logprobs', 'top_logprobs', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions',
  'function_call', 'modalities', 'audio', 'reasoning_effort', 'thinking', 'user', 'safety_identifier', 'web_search_options',
  'cache_control'
])

/** Values that match the API's behaviour, so that dropping them changes nothing. */
const neutral: Readonly<Record<string, readonly unknown[]>> = {
  frequency_penalty: [0],
  presence_penalty: [0],
  store: [false],
  service_tier: ['auto', 'default'],
  verbosity: ['medium']
}

/** The names of dropped fields go into a response header, so their number and length are bounded. */
const limits = { names: 32, length: 64 }

/** Names of the request's fields that have no equivalent and are dropped. */
export function droppedFields (request: ChatCompletionRequest): string[] {
  const fields = Object.entries(request)
    .filter(([name, value]) => !translated.has(name) && isWanted(name, value))
  return fields.slice(0, limits.names).map(([name]) => name.replace(/[^\w.-]/g, '_').slice(0, limits.length))
}

function isWanted (name: string, value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (ownMember(neutral, name)?.includes(value) === true) return false
  return !isObject(value) || Object.keys(value).length > 0
}

/** Throws UpstreamError (400) for fields without which the request would mean something else. */
export function refuseUnsupportedFields (request: ChatCompletionRequest): void {
  if ((request.n ?? 1) > 1) throw unsupportedFeature('n', '`n` above 1; send separate requests')
  if (request.logprobs === true) throw unsupportedFeature('logprobs', '`logprobs`')
  if (request.modalities?.includes('audio') === true) throw unsupportedFeature('modalities', 'requests for audio')
  if (request.web_search_options !== undefined) throw unsupportedFeature('web_search_options', '`web_search_options`')
}
