import { sealMark } from '../../providers/anthropic/thinking-signature.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { sealJson, unsealJson } from '../../shared/sealed-json.ts'

// Thinking blocks come back with the signature they were sent with. Claude's own signature passes as it is.
// For other models the signature holds what their providers want back: details of the reasoning, in
// OpenRouter's form, and what came with each tool call, as Gemini's signatures.

/** What is known of the thoughts before a tool call or an answer. */
export interface SealedThinking {
  /** The thoughts, where the block does not show them. */
  text?: string
  details?: JsonObject[]
  /** `extra_content` of tool calls, by their ids. */
  extras?: JsonObject
}

/** A signature that holds thoughts. */
export function sealThinking (thoughts: SealedThinking): string {
  const given = Object.entries(thoughts).filter(([, value]) => value !== undefined)
  return sealJson(sealMark, Object.fromEntries(given))
}

/** Whether a signature was made here, so that no provider knows it. */
export function isSealed (signature: string): boolean {
  return signature.startsWith(sealMark)
}

/** What a signature holds; nothing if it was changed or cut. */
export function unsealThinking (signature: string): SealedThinking {
  const value = unsealJson(sealMark, signature)
  if (!isObject(value)) return {}
  const { text, details, extras } = value
  return {
    ...(isText(text) ? { text } : {}),
    ...(Array.isArray(details) ? { details: details.filter(isObject) } : {}),
    ...(isObject(extras) ? { extras } : {})
  }
}
