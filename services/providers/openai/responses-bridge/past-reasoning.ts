import { isObject, isText, type JsonObject } from '../../../shared/json.ts'
import { copiedReasoning, copyReasoning } from '../../copied-reasoning.ts'

/** Reasoning that its provider can read again; `format`: whose it is. */
export interface PastReasoning { id: string, data: string, format: string }

/** The encrypted reasoning of an output item; null for another item, or one without. */
export function readPastReasoning (item: JsonObject, format: string): PastReasoning | null {
  const { type, id, encrypted_content: data } = item
  return type === 'reasoning' && isText(data) ? { id: isText(id) ? id : '', data, format } : null
}

/** One item of `reasoning_details`. */
export function writePastDetail ({ id, data, format }: PastReasoning, index: number): JsonObject {
  return { type: 'reasoning.encrypted', data, id, format, index }
}

/** The reasoning in `reasoning_details` that a provider can read. */
export function readPastDetails (details: unknown, format: string): PastReasoning[] {
  if (!Array.isArray(details)) return []
  return details.filter(isObject).filter(({ type }) => type === 'reasoning.encrypted').flatMap(readItem)
    .filter(reasoning => reasoning.format === format)
}

/** The member of a tool call that follows this reasoning; nothing if there was none. */
export function writePastCopy (reasoning: readonly PastReasoning[]): { extra_content?: JsonObject } {
  return reasoning.length === 0 ? {} : { extra_content: copyReasoning('openai', reasoning) }
}

/** The reasoning in the `extra_content` of a tool call that a provider can read. */
export function readPastCopy (call: object, format: string): PastReasoning[] {
  return copiedReasoning('openai', Reflect.get(call, 'extra_content')).flatMap(readItem)
    .filter(reasoning => reasoning.format === format)
}

function readItem (item: unknown): PastReasoning[] {
  if (!isObject(item)) return []
  const { id, data, format } = item
  return isText(data) && isText(format) ? [{ id: isText(id) ? id : '', data, format }] : []
}

/** The item that takes reasoning back to its provider. */
export function toReasoningItem ({ id, data }: PastReasoning): JsonObject {
  return { type: 'reasoning', ...(id === '' ? {} : { id }), summary: [], encrypted_content: data }
}
