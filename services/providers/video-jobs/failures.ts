import { UpstreamError, type Sent, type UpstreamErrorKind } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { kindByCommonStatus } from '../../upstream/status-kinds.ts'

/** What a provider says about a failure. */
export interface Complaint { code: string | null, message: string | null }

/** What a provider's own codes mean. */
export type FailureCodes = Readonly<Record<string, UpstreamErrorKind>>

/** The complaint in an error body, of whichever of the usual shapes it is. */
export function complaintIn (body: unknown): Complaint {
  const said = Array.isArray(body) ? body[0] : body
  if (typeof said === 'string') return { code: null, message: said || null }
  if (!isObject(said)) return { code: null, message: null }
  if (isObject(said.error)) return complaintIn(said.error)
  const { code, status, type, failureCode, error, message, msg, detail, title, failure } = said
  if (Array.isArray(detail) || isObject(detail)) return complaintIn(detail)
  return {
    // Google's `code` repeats the HTTP status, its `status` is the code.
    code: textOf(isStatus(code) ? status : code) ?? textOf(failureCode) ?? textOf(type) ?? textOf(code),
    message: [message, msg, detail, failure, error, title].map(textOf).find(text => text !== null) ?? null
  }
}

/** What an answer of this status that carries a complaint is. */
export function kindOf (status: number, complaint: Complaint, codes: FailureCodes): UpstreamErrorKind {
  const known = codes[complaint.code ?? '']
  if (known !== undefined) return known
  const isRefusal = status >= 400 && status < 500
  if (isRefusal && isModeration(complaint)) return 'moderated'
  // Whatever its status: the gateway's own account is empty, which is no fault of the request.
  if (isRefusal && moneyWords.test(complaint.message ?? '')) return 'quota'
  return kindByCommonStatus[status] ?? (isRefusal ? 'bad_request' : 'bad_reply')
}

/** What it is when a job that had begun has failed with a complaint. */
export function failedJob (complaint: Complaint, codes: FailureCodes): UpstreamError {
  const { code, message } = complaint
  const kind = codes[code ?? ''] ?? (isModeration(complaint) ? 'moderated' : 'bad_reply')
  return new UpstreamError(kind, 'yes', cut(message ?? ''), { code })
}

/** Whether a submit that was answered so may have begun a job all the same. */
export function sentOf (kind: UpstreamErrorKind): Sent {
  return kind === 'bad_reply' || kind === 'timeout' || kind === 'network' ? 'maybe' : 'yes'
}

/** A failure of a submit that was not refused: unless it never left, it may have begun a job. */
export function mayHaveBegun (error: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.sent === 'no') return error
  return new UpstreamError(error.kind, 'maybe', error.message, { ...error.details, cause: error })
}

export function badReply (what: string, cause?: unknown): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', `The provider's answer ${what}.`, { cause })
}

/** Text, or a number as text; null for all else and for nothing. */
export function textOf (value: unknown): string | null {
  return (typeof value === 'string' && value !== '') || Number.isFinite(value) ? String(value) : null
}

/** The object at a key; an empty one when there is none. */
export function objectAt (body: JsonObject, key: string): JsonObject {
  const value = body[key]
  return isObject(value) ? value : {}
}

export const cut = (message: string): string => message.slice(0, 2000)

const isStatus = (code: unknown): boolean => typeof code === 'number' && code >= 400 && code < 600

/** Providers word it in many ways; a code is unambiguous, a message has to be about the content. */
function isModeration ({ code, message }: Complaint): boolean {
  return moderationCode.test(code ?? '') || moderationWords.test(message ?? '')
}

const moderationCode = /safety|moderat|sensitive|content_?policy|content_?filter|nsfw|datainspection/i
const moderationWords =
  /moderat(ed|ion)|sensitive (content|information|word)|flagged|nsfw|content polic|inappropriate/i

const moneyWords = /(enough|insufficient|out of|exhausted) (credit|balance|fund|quota)/i
