import type { Dialect } from './dialects.ts'
import type { ChatCall, CompletionCall, ProviderCall } from './provider.ts'

interface RequestEdits {
  /** Members of the body to set (a value) or leave out (undefined). */
  edits: Map<string, unknown>
  /** Fields the client sent that the upstream cannot take. */
  dropped: string[]
  /** Usage is asked for in the client's place and must be hidden from it. */
  hideUsage: boolean
}

/**
 * What has to change in a client's body before this upstream can take it; in most requests next to nothing.
 */
export function editsFor (
  { request, model, outputLimit }: ProviderCall<ChatCall['request'] | CompletionCall['request']>,
  dialect: Dialect
): RequestEdits {
  const edits = new Map<string, unknown>()
  const fields: Record<string, unknown> = request
  if (request.model !== model) edits.set('model', model)
  limitOutput(fields, dialect, edits)
  if (outputLimit !== null) edits.set(isChat(fields) ? dialect.maxTokensField ?? 'max_tokens' : 'max_tokens', outputLimit)
  for (const [field, name] of Object.entries(dialect.rename)) {
    if (fields[field] === undefined) continue
    edits.set(field, undefined).set(name, fields[field])
  }
  const dropped = dialect.drop.filter(field => fields[field] !== undefined && fields[field] !== null)
  for (const field of dialect.drop) if (fields[field] !== undefined) edits.set(field, undefined)
  const hideUsage = request.stream === true && request.stream_options?.include_usage !== true
  if (hideUsage && dialect.streamUsage) {
    edits.set('stream_options', { ...request.stream_options, include_usage: true })
  } else if (request.stream === true && !dialect.streamUsage && request.stream_options !== undefined) {
    edits.set('stream_options', undefined)
  }
  return { edits, dropped, hideUsage }
}

/** The output limit under the name that the upstream knows; the newer of OpenAI's two names wins. */
function limitOutput (fields: Record<string, unknown>, dialect: Dialect, edits: Map<string, unknown>): void {
  const wanted = dialect.maxTokensField
  if (wanted === null || !isChat(fields)) return
  const other = wanted === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  if (fields[other] === undefined) return
  edits.set(other, undefined)
  const limit = fields.max_completion_tokens ?? fields.max_tokens
  if (limit !== fields[wanted]) edits.set(wanted, limit)
}

function isChat (fields: Record<string, unknown>): boolean {
  return fields.messages !== undefined
}
