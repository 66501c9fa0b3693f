import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { copiedReasoning, copyReasoning } from '../copied-reasoning.ts'
import type { ThinkingBlock } from './wire.ts'

const format = 'anthropic-claude-v1'
/** How the signature of a thinking block begins that holds the thoughts of another model. */
export const sealMark = 'tollgate.'

/** One item of `reasoning_details`. */
export function toReasoningDetail (block: ThinkingBlock, index: number): JsonObject {
  return block.type === 'thinking'
    ? { type: 'reasoning.text', text: block.thinking, signature: block.signature, format, index }
    : { type: 'reasoning.encrypted', data: block.data, format, index }
}

/** The thinking blocks in `reasoning_details`; details of other models are skipped. */
export function fromReasoningDetails (details: unknown): ThinkingBlock[] {
  if (!Array.isArray(details)) return []
  const blocks = new Map<unknown, ThinkingBlock>()
  details.filter(isObject).filter(detail => detail.format === format).forEach((detail, at) => {
    const key = detail.index ?? `at ${at}`
    const { type, text, signature, data } = detail
    if (type === 'reasoning.encrypted' && isText(data)) blocks.set(key, { type: 'redacted_thinking', data })
    if (type !== 'reasoning.text') return
    const before = blocks.get(key)
    const [said, signed] = before?.type === 'thinking' ? [before.thinking, before.signature] : ['', '']
    blocks.set(key, {
      type: 'thinking', thinking: said + (isText(text) ? text : ''), signature: isText(signature) ? signature : signed
    })
  })
  return [...blocks.values()].filter(isSigned)
}

/** The `extra_content` of a tool call that follows these blocks; null when none is signed. */
export function toExtraContent (blocks: readonly ThinkingBlock[]): JsonObject | null {
  const signed = blocks.filter(isSigned)
  return signed.length === 0 ? null : copyReasoning('claude', signed)
}

/** The blocks in the `extra_content` of a tool call; none if it has none or is another provider's. */
export function fromExtraContent (extra: unknown): ThinkingBlock[] {
  return copiedReasoning('claude', extra).flatMap(readBlock)
}

function readBlock (block: unknown): ThinkingBlock[] {
  if (!isObject(block)) return []
  const { type, thinking, signature, data } = block
  if (type === 'redacted_thinking' && isText(data)) return [{ type, data }]
  if (type !== 'thinking' || typeof thinking !== 'string' || !isText(signature)) return []
  return [{ type, thinking, signature }]
}

function isSigned (block: ThinkingBlock): boolean {
  return block.type === 'redacted_thinking' || block.signature !== ''
}
