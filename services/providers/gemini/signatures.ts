import { isObject, type JsonObject } from '../../shared/json.ts'

// Gemini signs what follows from its thoughts and requires the signature back, for which OpenAI's format has
// no field. It is sent as by Google's own OpenAI-compatible endpoint, in `extra_content`, which clients keep
// when they return messages unchanged. Source: ai.google.dev, "Thought signatures" and "OpenAI
// compatibility".

/** The placeholder that Google documents for a signature that was lost. */
export const unknownSignature = 'skip_thought_signature_validator'

/** The member of a tool call or message that carries a signature. */
export function extraContent (signature: string): { extra_content: JsonObject } {
  return { extra_content: { google: { thought_signature: signature } } }
}

/** The signature that a client sent back; null if there is none or it is another provider's. */
export function signatureIn (carrier: object): string | null {
  const extra = 'extra_content' in carrier ? carrier.extra_content : undefined
  const google = isObject(extra) ? extra.google : undefined
  const signature = isObject(google) ? google.thought_signature : undefined
  return typeof signature === 'string' && base64.test(signature) ? signature : null
}

const base64 = /^[\w+/-]+=*$/

/** Other gateways append the signature to the call's id, which every client keeps. */
const separator = '__thought__'

/** The id of a tool call, and the signature in it. */
export function readCallId (id: string): { id: string, signature: string | null } {
  const at = id.indexOf(separator)
  if (at === -1) return { id, signature: null }
  const signature = id.slice(at + separator.length)
  return { id: id.slice(0, at), signature: base64.test(signature) ? signature : null }
}
