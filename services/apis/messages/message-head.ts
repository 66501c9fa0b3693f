import type { CreatedMessage, MessageStopReason, MessageUsage } from '../../../schemas/anthropic/messages.ts'
import { isObject, isText } from '../../shared/json.ts'
import { tokenCount } from '../../providers/usage.ts'

/** The members of a message, but for what the model says. */
export function messageOf (
  { id, model }: { id: string, model: string }, usage: MessageUsage, ending: Ending | null = null
): CreatedMessage {
  return {
    id: `msg_${id.replace(/^(chatcmpl-)?(msg_)?/, '')}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    ...ending,
    usage,
    container: null,
    diagnostics: null
  }
}

export type Ending = Pick<CreatedMessage, 'stop_sequence' | 'stop_details'> & { stop_reason: MessageStopReason }

interface Finish {
  reason: unknown
  /** The text of a refusal. */
  refusal: string
  hasCalls: boolean
  /** What the server says it has stopped at, and what it may stop at. */
  stoppedAt: unknown
  stops: readonly string[]
}

/** Why an answer has ended, in the words of this API. */
export function endingOf ({ reason, refusal, hasCalls, stoppedAt, stops }: Finish): Ending {
  const plain = { stop_sequence: null, stop_details: null }
  if (reason === 'content_filter' || refusal !== '') {
    const details = { type: 'refusal' as const, category: null, explanation: refusal === '' ? null : refusal }
    return { ...plain, stop_reason: 'refusal', stop_details: details }
  }
  if (reason === 'length') return { ...plain, stop_reason: 'max_tokens' }
  if (hasCalls) return { ...plain, stop_reason: 'tool_use' }
  const stop = stops.find(text => text === stoppedAt)
  return stop === undefined
    ? { ...plain, stop_reason: 'end_turn' }
    : { ...plain, stop_reason: 'stop_sequence', stop_sequence: stop }
}

/**
 * The text at which a choice has stopped, where its server says so: `stop_reason` of vLLM, `matched_stop`
 * of SGLang; undefined elsewhere.
 */
export function stopIn (choice: object): unknown {
  const { stop_reason: vllm, matched_stop: sglang }: StopMembers = choice
  return isText(vllm) ? vllm : sglang
}

interface StopMembers { stop_reason?: unknown, matched_stop?: unknown }

/** OpenAI's counts in the form of this API, where the input has no cached tokens. */
export function usageOfMessage (usage: unknown, serviceTier: unknown = null): MessageUsage {
  const counts = isObject(usage) ? usage : {}
  const prompt = isObject(counts.prompt_tokens_details) ? counts.prompt_tokens_details : {}
  const completion = isObject(counts.completion_tokens_details) ? counts.completion_tokens_details : {}
  const read = tokenCount(prompt.cached_tokens) ?? 0
  const written = tokenCount(prompt.cache_write_tokens) ?? 0
  const writtenLong = tokenCount(prompt.cache_write_1h_tokens) ?? 0
  const thinking = tokenCount(completion.reasoning_tokens)
  const longPart = Math.min(written, writtenLong)
  return {
    input_tokens: Math.max(0, (tokenCount(counts.prompt_tokens) ?? 0) - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written - longPart, ephemeral_1h_input_tokens: longPart },
    output_tokens: tokenCount(counts.completion_tokens) ?? 0,
    output_tokens_details: thinking === undefined ? null : { thinking_tokens: thinking },
    server_tool_use: null,
    service_tier: serviceTier === 'priority' ? 'priority' : 'standard'
  }
}
