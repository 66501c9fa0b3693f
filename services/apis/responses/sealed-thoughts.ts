import { isObject, type JsonObject } from '../../shared/json.ts'
import { sealJson, unsealJson } from '../../shared/sealed-json.ts'

// Thoughts that a provider has signed must come back unchanged, and chat carries them in members of messages
// and tool calls. Here a reasoning item carries them as `encrypted_content`, which clients keep as it is.

/** What of the thoughts behind an answer only their provider can read, as chat carries it. */
export interface SealedThoughts {
  /** Items of `reasoning_details`. */
  details?: unknown[]
  /** `extra_content` of the message. */
  message?: JsonObject
  /** `extra_content` of the tool call that follows. */
  call?: JsonObject
}

const mark = 'tollgate.'

/**
 * The text of `encrypted_content`; null if there is nothing to carry, unless the client `isAsking`: clients
 * that keep their conversations themselves return only items that have one.
 */
export function sealThoughts (thoughts: SealedThoughts, isAsking: boolean): string | null {
  return isAsking || Object.keys(thoughts).length > 0 ? sealJson(mark, thoughts) : null
}

/** What `sealThoughts` has sealed; null for a text from elsewhere, or one that was changed. */
export function unsealThoughts (text: string): SealedThoughts | null {
  const sealed = unsealJson(mark, text)
  if (!isObject(sealed)) return null
  const { details, message, call } = sealed
  return {
    ...(Array.isArray(details) ? { details } : {}),
    ...(isObject(message) ? { message } : {}),
    ...(isObject(call) ? { call } : {})
  }
}

/** Whether the gateway has sealed a text, and not a provider. */
export function isSealedHere (text: string): boolean {
  return text.startsWith(mark)
}
