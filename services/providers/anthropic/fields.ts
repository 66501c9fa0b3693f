import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { unsupportedFeature } from '../refuse.ts'

/** Fields that are translated or refused; all others are dropped. */
export const translatedFields: ReadonlySet<string> = new Set([
  'model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k',
  'stop', 'n', 'logprobs', 'top_logprobs', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions',
  'function_call', 'modalities', 'audio', 'reasoning_effort', 'thinking', 'user', 'safety_identifier', 'cache_control'
])

/** Throws UpstreamError (400) for fields without which the request would mean something else. */
export function refuseUnsupportedFields (request: ChatCompletionRequest): void {
  if ((request.n ?? 1) > 1) throw unsupportedFeature('n', '`n` above 1; send separate requests')
  if (request.logprobs === true) throw unsupportedFeature('logprobs', '`logprobs`')
  if (request.modalities?.includes('audio') === true) throw unsupportedFeature('modalities', 'requests for audio')
}
