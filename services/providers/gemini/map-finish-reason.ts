import type { FinishReason } from '../provider.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject, ownMember } from '../../shared/json.ts'

type Meaning = FinishReason | 'failure'

/** Gemini's finish reasons as OpenAI's. Source: @google/genai 3.1.0, `FinishReason`. */
const meanings: Readonly<Record<string, Meaning>> = {
  STOP: 'stop',
  FINISH_REASON_UNSPECIFIED: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  LANGUAGE: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  MALFORMED_FUNCTION_CALL: 'failure',
  UNEXPECTED_TOOL_CALL: 'failure',
  TOO_MANY_TOOL_CALLS: 'failure',
  MALFORMED_RESPONSE: 'failure',
  NO_IMAGE: 'failure',
  IMAGE_OTHER: 'failure',
  OTHER: 'failure'
}

interface Ending {
  finish: string
  finishMessage: string
  hasCalls: boolean
  isEmpty: boolean
  isLegacy: boolean
}

/** How a choice ends, and its refusal text. Throws UpstreamError when the model failed without output. */
export function mapFinishReason (
  { finish, finishMessage, hasCalls, isEmpty, isLegacy }: Ending
): { reason: FinishReason, refusal: string | null } {
  const meaning = finish === '' ? 'stop' : ownMember(meanings, finish) ?? 'length'
  if (meaning === 'failure') {
    if (isEmpty) throw new UpstreamError('bad_reply', 'yes', `The model came to no answer (${finish}). ${finishMessage}`.trim())
    return { reason: 'stop', refusal: null }
  }
  if (meaning === 'content_filter') {
    const refusal = finishMessage === '' ? `The provider withheld this answer (${finish}).` : finishMessage
    return { reason: meaning, refusal: isEmpty ? refusal : null }
  }
  // Gemini has no finish reason for tool calls.
  if (meaning === 'stop' && hasCalls) return { reason: isLegacy ? 'function_call' : 'tool_calls', refusal: null }
  return { reason: meaning, refusal: null }
}

/** The refusal text of a blocked prompt; null when it was not blocked. */
export function promptRefusal ({ promptFeedback }: JsonObject): string | null {
  if (!isObject(promptFeedback)) return null
  const { blockReason, blockReasonMessage } = promptFeedback
  if (typeof blockReason !== 'string' || blockReason === 'BLOCKED_REASON_UNSPECIFIED') return null
  if (typeof blockReasonMessage === 'string' && blockReasonMessage !== '') return blockReasonMessage
  return `The provider blocked this prompt (${blockReason}).`
}
