import type { ChatCompletion } from '../../../schemas/openai/chat-completions.ts'
import type { FunctionToolCall } from '../../../schemas/openai/chat-messages.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { readServiceTier } from '../report.ts'
import { anthropicErrorIn } from './errors.ts'
import { mapStopReason, refusalText } from './map-stop-reason.ts'
import { toReasoningDetail, toExtraContent } from './thinking-signature.ts'
import { noCounts, toUsage, updateCounts, type Counts } from './usage.ts'
import type { ThinkingBlock } from './wire.ts'

/** A message as a chat completion. Throws UpstreamError for an error or anything that is no message. */
export function toCompletion (body: unknown, secret: string | null, counts = noCounts): ChatCompletion {
  if (isObject(body) && body.type === 'error') throw anthropicErrorIn(body, secret)
  if (!isObject(body) || !Array.isArray(body.content)) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is not a message.')
  }
  const { text, calls, thoughts } = readContent(body.content.filter(isObject))
  const thinking = thoughts.map(block => block.type === 'thinking' ? block.thinking : '').join('')
  return {
    ...messageHead(body),
    object: 'chat.completion',
    choices: [{
      index: 0,
      message: {
        role: 'assistant',
        content: text === '' && calls.length > 0 ? null : text,
        refusal: refusalText(body.stop_reason, body.stop_details),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        ...(thinking === '' ? {} : { reasoning_content: thinking }),
        ...(thoughts.length === 0 ? {} : { reasoning_details: thoughts.map(toReasoningDetail) })
      },
      finish_reason: mapStopReason(body.stop_reason),
      logprobs: null
    }],
    ...usageOf(body.usage, counts)
  }
}

/** Absent if the input was not counted: it would be free. */
function usageOf (reported: unknown, before: Counts): Pick<ChatCompletion, 'usage'> {
  const counts = updateCounts(before, reported)
  return counts.input === null ? {} : { usage: toUsage(counts) }
}

/** The fields that every chunk of an answer repeats. */
export function messageHead (
  { id, model, usage }: JsonObject
): Pick<ChatCompletion, 'id' | 'created' | 'model' | 'service_tier'> {
  const tier = readServiceTier(isObject(usage) ? usage.service_tier : null)
  return {
    id: `chatcmpl-${textOf(id)}`,
    created: Math.floor(Date.now() / 1000),
    model: textOf(model),
    ...(tier === null ? {} : { service_tier: tier })
  }
}

interface Content { text: string, calls: FunctionToolCall[], thoughts: ThinkingBlock[] }

function readContent (blocks: JsonObject[]): Content {
  const content: Content = { text: '', calls: [], thoughts: [] }
  let fresh: ThinkingBlock[] = []
  for (const block of blocks) {
    if (block.type === 'text') content.text += textOf(block.text)
    const thought = toThinkingBlock(block)
    if (thought !== null) fresh.push(thought)
    if (thought !== null) content.thoughts.push(thought)
    if (block.type !== 'tool_use') continue
    const extra = toExtraContent(fresh)
    fresh = []
    content.calls.push({
      id: textOf(block.id),
      type: 'function',
      function: { name: textOf(block.name), arguments: JSON.stringify(block.input ?? {}) },
      ...(extra === null ? {} : { extra_content: extra })
    })
  }
  return content
}

/** The block as a thinking block; null for any other type. */
export function toThinkingBlock ({ type, thinking, signature, data }: JsonObject): ThinkingBlock | null {
  if (type === 'thinking') return { type, thinking: textOf(thinking), signature: textOf(signature) }
  return type === 'redacted_thinking' ? { type, data: textOf(data) } : null
}

export function textOf (value: unknown): string {
  return typeof value === 'string' ? value : ''
}
