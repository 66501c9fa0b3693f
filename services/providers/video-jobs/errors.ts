import { UpstreamError, type Sent, type UpstreamErrorKind } from '../../shared/errors.ts'
import { isObject, type JsonObject, ownMember } from '../../shared/json.ts'
import { kindByCommonStatus } from '../upstream/status-kinds.ts'

/** Code and message of a provider's error. */
export interface ProviderErrorDetail {
  code: string | null
  message: string | null
  /** What an earlier classification has found. */
  kind?: UpstreamErrorKind | undefined
}

export type ErrorKindByCode = Readonly<Record<string, UpstreamErrorKind>>

/** Reads code and message from an error body in any of the common shapes. */
export function readErrorDetail (body: unknown): ProviderErrorDetail {
  const first = Array.isArray(body) ? body[0] : body
  if (typeof first === 'string') return { code: null, message: first || null }
  if (!isObject(first)) return { code: null, message: null }
  if (isObject(first.error)) return readErrorDetail(first.error)
  const { code, status, type, failureCode, error, message, msg, detail, title, failure } = first
  if (Array.isArray(detail) || isObject(detail)) return readErrorDetail(detail)
  return {
    // Google repeats the HTTP status in `code`; its code is in `status`.
    code: firstText(isStatus(code) ? status : code, failureCode, type, code),
    message: firstText(message, msg, detail, failure, error, title)
  }
}

const firstText = (...values: unknown[]): string | null =>
  values.map(textOrNull).find(text => text !== null) ?? null

/** Classifies an error response by its code, its message and its status. */
export function errorKindOf (
  status: number, detail: ProviderErrorDetail, codes: ErrorKindByCode
): UpstreamErrorKind {
  const known = ownMember(codes, detail.code ?? '')
  if (known !== undefined && known !== 'bad_request') return known
  const isRefusal = status >= 400 && status < 500
  if (isRefusal && isModeration(detail)) return 'moderated'
  if (known !== undefined) return known
  // The gateway's account is out of credit; the request is valid.
  if (isRefusal && creditWords.test(detail.message ?? '')) return 'quota'
  return kindByCommonStatus[status] ?? (isRefusal ? 'bad_request' : 'bad_reply')
}

/** The error of a job that failed after it was accepted. */
export function jobError (detail: ProviderErrorDetail, codes: ErrorKindByCode): UpstreamError {
  const { code, message } = detail
  return new UpstreamError(jobErrorKind(detail, codes), 'yes', truncateMessage(message ?? ''), { code })
}

function jobErrorKind (detail: ProviderErrorDetail, codes: ErrorKindByCode): UpstreamErrorKind {
  const known = ownMember(codes, detail.code ?? '') ?? detail.kind
  if (known !== undefined && known !== 'bad_request') return known
  if (isModeration(detail)) return 'moderated'
  const isRequest = inputCode.test(detail.code ?? '') || inputWords.test(detail.message ?? '')
  return known ?? (isRequest ? 'bad_request' : 'bad_reply')
}

/** Whether a submit that failed like this may have started a job. */
export function sentForKind (kind: UpstreamErrorKind): Sent {
  return kind === 'bad_reply' || kind === 'timeout' || kind === 'network' ? 'maybe' : 'yes'
}

/** Marks the error of a submit as `sent: 'maybe'`, unless the request was never sent. */
export function asMaybeSent (error: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.sent === 'no') return error
  return new UpstreamError(error.kind, 'maybe', error.message, { ...error.details, cause: error })
}

/** An invalid response; `what` completes the sentence "The provider's response …". */
export function badReply (what: string, cause?: unknown): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', `The provider's response ${what}.`, { cause })
}

/** Non-empty text, or a finite number as text; null for anything else. */
export function textOrNull (value: unknown): string | null {
  return (typeof value === 'string' && value !== '') || Number.isFinite(value) ? String(value) : null
}

/** The object at a key, or an empty one. */
export function objectField (body: JsonObject, key: string): JsonObject {
  const value = body[key]
  return isObject(value) ? value : {}
}

/** Limits a provider's message to 2,000 characters. */
export const truncateMessage = (message: string): string => message.slice(0, 2000)

const isStatus = (code: unknown): boolean => typeof code === 'number' && code >= 400 && code < 600

/** Matches codes broadly, and messages only if they are about the content. */
function isModeration ({ code, message }: ProviderErrorDetail): boolean {
  return moderationCode.test(code ?? '') || moderationWords.test(message ?? '')
}

const moderationCode = /safety|moderat|sensitive|content_?policy|content_?filter|nsfw|datainspection/i
const moderationWords = new RegExp([
  'moderat(ed|ion)', 'sensitive (content|information|word)', 'flagged', 'nsfw', 'content polic', 'inappropriate',
  'risk control', 'usage (guideline|polic)', 'safety (filter|guideline|polic)', 'responsible ai',
  'violat\\w{1,5}\\b.{0,60}\\b(polic|guideline|terms|standard|rule|practice|law)', '敏感', '违规', '风控'
].join('|'), 'i')

/** Codes and messages about what the client has sent: a picture, its size, a length or a prompt. */
const inputCode = /^(asset\.invalid|invalid_?(parameter|argument|input|image|url)|(image|file|video|prompt)_\w+)/i
const inputWords = new RegExp(
  '\\b(image|picture|photo|frame|prompt|input|aspect ratio|resolution|duration|width|height|url)s?\\b.{0,60}' +
  '\\b(too (small|large|big|long|short|many)|invalid|unsupported|not supported|minimum|maximum|at (least|most)|' +
  'exceeds?|must (be|have)|(can|could) ?not be (loaded|downloaded|decoded|read|accessed|fetched))\\b', 'i')

const creditWords = /(enough|insufficient|out of|exhausted) (credit|balance|fund|quota)/i
