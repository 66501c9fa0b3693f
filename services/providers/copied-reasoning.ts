import { isObject, isText, type JsonObject } from '../shared/json.ts'
import { sealJson, unsealJson } from '../shared/sealed-json.ts'

// Reasoning must be sent back to its provider before the tool calls that it led to, and OpenAI's format has
// no field for it. Clients get it twice: in the message as `reasoning_details`, in OpenRouter's form, for
// those that return messages unchanged; and as a copy in the next tool call, as
// `extra_content.google.thought_signature`, the one extension that clients which rebuild messages keep
// (@ai-sdk/openai-compatible 3.0.92).

/** How a copy begins, by the provider's form of reasoning. */
const marks = { claude: 'claude.', openai: 'openai.' } as const

/** The `extra_content` of a tool call that follows reasoning. */
export function copyReasoning (form: keyof typeof marks, reasoning: readonly object[]): JsonObject {
  return { google: { thought_signature: sealJson(marks[form], reasoning) } }
}

/** The reasoning in the `extra_content` of a tool call; none if it has none or another provider's. */
export function copiedReasoning (form: keyof typeof marks, extra: unknown): unknown[] {
  const text = signatureIn(extra)
  const items = text === null ? null : unsealJson(marks[form], text)
  return Array.isArray(items) ? items : []
}

/** Whether the `extra_content` of a tool call is a copy of what its message has. */
export function isCopiedReasoning (extra: unknown): boolean {
  const text = signatureIn(extra)
  return text !== null && Object.values(marks).some(mark => text.startsWith(mark))
}

function signatureIn (extra: unknown): string | null {
  const google = isObject(extra) ? extra.google : undefined
  const text = isObject(google) ? google.thought_signature : undefined
  return isText(text) ? text : null
}
