import { isObject, ownMember } from '../../shared/json.ts'
import type { FinishReason } from '../provider.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter'
}

/** Anthropic's stop reason as OpenAI's finish reason; any other one, such as `end_turn`, is `stop`. */
export function mapStopReason (stopReason: unknown): FinishReason {
  return (typeof stopReason === 'string' ? ownMember(reasons, stopReason) : undefined) ?? 'stop'
}

/** The text of a refusal; null when the request was not refused. */
export function refusalText (stopReason: unknown, details: unknown): string | null {
  if (stopReason !== 'refusal') return null
  const said = isObject(details) ? details.explanation : null
  return typeof said === 'string' && said !== '' ? said : 'The provider declined this request.'
}
