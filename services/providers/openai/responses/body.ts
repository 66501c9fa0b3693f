import { isObject, isText, type JsonObject } from '../../../shared/json.ts'
import { effectiveLimit } from '../../../shared/request-fields.ts'
import type { ResponsesCall } from '../../provider.ts'
import type { Dialect } from '../dialects.ts'
import { callIdFor } from '../prompt.ts'
import { responseCallIds } from '../prompt-rules.ts'
import { unmetParameters } from '../request.ts'

interface ResponseBody {
  bytes: Uint8Array
  /** Parameters that the model refuses, in the words of chat. */
  dropped: string[]
  /** Whether the gateway asks for encrypted reasoning, which the client has not done. */
  addsReasoning: boolean
}

const encryptedReasoning = 'reasoning.encrypted_content'

/**
 * The body of a call as the client wrote it, but for the edits of the call, the model, the output limit, and
 * the number of searches that are paid for. The provider stores nothing; it is asked for reasoning that can
 * be sent again, unless `reasons` says that the model has none.
 */
export function responseBody (call: ResponsesCall, dialect: Dialect, reasons: boolean): ResponseBody {
  const { original, body: request, model, outputLimit, maxOutput, maxSearches } = call
  const body = isObject(original.value) ? original.value : {}
  const edits = new Map<string, unknown>(call.edits)
  if (body.model !== model) edits.set('model', model)
  if (body.store !== false) edits.set('store', false)
  const limit = Math.min(effectiveLimit({ body: request, outputLimit }) ?? Infinity, maxOutput ?? Infinity)
  if (Number.isFinite(limit) && body.max_output_tokens !== limit) edits.set('max_output_tokens', limit)
  if (maxSearches > 0) boundSearches(body, maxSearches, edits)
  const include = Array.isArray(body.include) ? body.include : []
  const addsReasoning = call.keepsReasoning && reasons && !include.includes(encryptedReasoning)
  if (addsReasoning) edits.set('include', [...include, encryptedReasoning])
  fitCallIds(body, edits)
  nameConversation(call, body, dialect, edits)
  const dropped = dropRefused(call, body, dialect, edits)
  return { bytes: original.with(edits), dropped, addsReasoning }
}

/** Ids that another provider has made may be too long here. */
function fitCallIds (body: JsonObject, edits: Map<string, unknown>): void {
  const input = edits.get('input') ?? body.input
  if (!Array.isArray(input)) return
  let isChanged = false
  const fitting = input.map((item: unknown) => {
    if (!isObject(item) || !isText(item.call_id)) return item
    const id = callIdFor(item.call_id, responseCallIds)
    if (id === item.call_id) return item
    isChanged = true
    return { ...item, call_id: id }
  })
  if (isChanged) edits.set('input', fitting)
}

/** `max_tool_calls` counts the calls of all tools that the provider runs. */
function boundSearches (body: JsonObject, most: number, edits: Map<string, unknown>): void {
  const { max_tool_calls: requested } = body
  if (typeof requested !== 'number' || requested > most) edits.set('max_tool_calls', most)
}

/** Fields by which the same conversation reaches the same cache of prompts, unless the client names one. */
function nameConversation (
  { conversation }: ResponsesCall, body: JsonObject, { rules }: Dialect, edits: Map<string, unknown>
): void {
  if (rules.conversation === null) return
  const field = 'field' in rules.conversation ? rules.conversation.field : 'prompt_cache_key'
  const id = body[field] ? null : conversation?.() ?? null
  if (id !== null) edits.set(field, id)
}

/** Drops what the model refuses, as for chat. */
function dropRefused (
  { body: request, model }: ResponsesCall, body: JsonObject, dialect: Dialect, edits: Map<string, unknown>
): string[] {
  const unmet = new Set(unmetParameters(request, model, dialect).dropped)
  const dropped: string[] = []
  for (const name of ['temperature', 'top_p']) {
    if (!unmet.has(name) || body[name] == null) continue
    edits.set(name, undefined)
    dropped.push(name)
  }
  if (unmet.has('reasoning_effort') && isObject(body.reasoning) && isText(body.reasoning.effort)) {
    const { effort: _, ...reasoning } = body.reasoning
    edits.set('reasoning', Object.keys(reasoning).length === 0 ? undefined : reasoning)
    dropped.push('reasoning_effort')
  }
  return dropped
}
