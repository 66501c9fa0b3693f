import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, ownMember, type JsonObject } from '../../shared/json.ts'

/** What a response of Converse lacks: its id, and the foundation model. */
export interface ResponseHead { id: string, model: string }

/**
 * A response of Converse as a message of the Messages API. Throws UpstreamError without a message. Source:
 * @aws-sdk/client-bedrock-runtime 3.1164.0, ConverseResponse.
 */
export function fromConverse (
  { output, stopReason, usage }: JsonObject, { id, model }: ResponseHead
): JsonObject {
  const message = isObject(output) && isObject(output.message) ? output.message : {}
  if (!Array.isArray(message.content)) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is not a message.')
  }
  const content = message.content.filter(isObject).flatMap(toBlock)
  return { id, model, content, ...stopOf(stopReason), usage: tokensIn(usage) }
}

/** A stop by a guardrail or filter is Anthropic's refusal; other reasons have the same names. */
export function stopOf (stopReason: unknown): JsonObject {
  const explanation = ownMember(filters, String(stopReason))
  return explanation === undefined
    ? { stop_reason: stopReason }
    : { stop_reason: 'refusal', stop_details: { explanation } }
}

const filters: Readonly<Record<string, string>> = {
  guardrail_intervened: 'A guardrail stopped this response.',
  content_filtered: 'The provider\'s content filter stopped this response.'
}

/** Token counts under Anthropic's names; as there, the prompt excludes what the cache read or wrote. */
export function tokensIn (usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens, cacheDetails } = usage
  const details = Array.isArray(cacheDetails) ? cacheDetails.filter(isObject) : []
  const written = details.map(({ ttl, inputTokens }) =>
    [ttl === '1h' ? 'ephemeral_1h_input_tokens' : 'ephemeral_5m_input_tokens', inputTokens])
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_input_tokens: cacheReadInputTokens,
    cache_creation_input_tokens: cacheWriteInputTokens,
    ...(written.length === 0 ? {} : { cache_creation: Object.fromEntries(written) })
  }
}

/** Blocks that have no equivalent are left out. */
function toBlock (block: JsonObject): JsonObject[] {
  if (isText(block.text)) return [{ type: 'text', text: block.text }]
  if (isObject(block.toolUse)) {
    const { toolUseId: id, name, input } = block.toolUse
    return [{ type: 'tool_use', id, name, input }]
  }
  if (isObject(block.reasoningContent)) {
    const { reasoningText, redactedContent: data } = block.reasoningContent
    if (isText(data)) return [{ type: 'redacted_thinking', data }]
    const { text: thinking, signature } = isObject(reasoningText) ? reasoningText : {}
    return [{ type: 'thinking', thinking, signature }]
  }
  const cited = isObject(block.citationsContent) ? block.citationsContent.content : null
  const texts = Array.isArray(cited) ? cited.filter(isObject).map(({ text }) => text).filter(isText) : []
  return texts.map(text => ({ type: 'text', text }))
}
