import { isObject, isText, ownMember } from '../../shared/json.ts'
import type { FinishReason } from '../provider.ts'

const reasons: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter'
}

/**
 * Anthropic's stop reason as OpenAI's finish reason; without one, `stop`. Any other, such as `pause_turn`, is
 * `length`: the turn is not finished.
 */
export function mapStopReason (stopReason: unknown): FinishReason {
  return isText(stopReason) ? ownMember(reasons, stopReason) ?? 'length' : 'stop'
}

/** The text of a refusal; null when the request was not refused. */
export function refusalText (stopReason: unknown, details: unknown): string | null {
  if (stopReason !== 'refusal') return null
  const said = isObject(details) ? details.explanation : null
  return typeof said === 'string' && said !== '' ? said : 'The provider declined this request.'
}
