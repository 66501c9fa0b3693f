import { isObject, type JsonObject } from '../../shared/json.ts'

// Gemini signs what follows from its thoughts and wants the signature back, which OpenAI's format has no
// place for. It travels as Google's own OpenAI-compatible endpoint sends it, in `extra_content`, which apps
// keep when they send a message back as they got it. Source: ai.google.dev, "Thought signatures" and "OpenAI
// compatibility".

/** Stands for a signature that the client has not kept; documented by Google. */
export const unknownSignature = 'skip_thought_signature_validator'

/** The member of a tool call or message that carries a signature. */
export function extraContent (signature: string): { extra_content: JsonObject } {
  return { extra_content: { google: { thought_signature: signature } } }
}

/**
 * The signature in a tool call or message that a client has sent back; null when there is none, or one of
 * another provider's: Gemini's are base64.
 */
export function signatureIn (carrier: object): string | null {
  const extra = 'extra_content' in carrier ? carrier.extra_content : undefined
  const google = isObject(extra) ? extra.google : undefined
  const signature = isObject(google) ? google.thought_signature : undefined
  return typeof signature === 'string' && base64.test(signature) ? signature : null
}

const base64 = /^[\w+/-]+=*$/

/** How other gateways hide a signature where every client keeps it: in the id of the call. */
const separator = '__thought__'

/** The id of a tool call and the signature that is hidden in it. */
export function readCallId (id: string): { id: string, signature: string | null } {
  const at = id.indexOf(separator)
  if (at === -1) return { id, signature: null }
  const signature = id.slice(at + separator.length)
  return { id: id.slice(0, at), signature: base64.test(signature) ? signature : null }
}
