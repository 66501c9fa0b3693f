import type { Candidate } from './candidates.ts'
import type { StreamReport } from '../providers/report.ts'
import { UpstreamError, type UpstreamErrorKind } from '../shared/errors.ts'
import { headerText } from '../shared/shown-text.ts'
import { plainCode, providerWords, redacted } from '../shared/redact.ts'

/** One call of a provider, for operators. Times are of `performance.now()`. */
export interface CallRecord {
  provider: string
  /** The model's name at the provider. */
  model: string
  startedMs: number
  /** When the response began or the call failed; null until then. */
  endedMs: number | null
  /** The provider's HTTP status, or null. */
  status: number | null
  failure: UpstreamErrorKind | null
  /** The provider's code of the failure. */
  code: string | null
  /** The provider's message about the failure, redacted; null if it is not to be recorded. */
  words: string | null
  /** See `RequestRecord.priceBasis`. */
  priceBasis?: 'family' | undefined
}

/** The outcome of one request: written by the use case, read by logs and metrics. Without prompt and key. */
export interface RequestRecord {
  /** The requested model id. */
  requestedModel: string | null
  /** The public id of the model that ran, the provider it ran at, and its name there. */
  model: string | null
  provider: string | null
  upstreamModel: string | null
  /** `family`: the model has no price of its own. */
  priceBasis?: 'family' | undefined
  /** The value of `x-tollgate-route`; null if the client named the model. */
  route: string | null
  /** Number of upstream calls. */
  attempts: number
  /** The first `maxCalls` of them. */
  calls: CallRecord[]
  /** Whether providers' messages, which may repeat parts of the prompt, are recorded. */
  keepsWords: boolean
  /** The provider's message about the failure that ended the request, redacted. */
  words: string | null
  /** The code of the error sent to the client. */
  code: string | null
  isStream: boolean
  /** The hold for the last candidate in nano-USD, or null. */
  heldNano: number | null
  report: StreamReport | null
  /** The output limit set by the gateway, in tokens per choice, or null. */
  maxTokens: number | null
  images: number | null
  job: string | null
  /** The plugins that took part: `name`, or `name;outcome`; null without plugins. */
  plugins: readonly string[] | null
  /** When the first byte was sent, on the clock of `performance.now()`. */
  firstByteAtMs: number | null
  /** The charge in nano-USD; null until it is settled. */
  costNano: number | null
  /** A failure after the status was sent. */
  failure: Error | null
  /** Whether a use case works on the request, possibly after its response is closed. */
  isOpen: boolean
  /** Called when that work has ended. */
  onEnd: (() => void)[]
}

/** Marks the work on a request as ended; its record no longer changes. */
export function endRecord (record: RequestRecord): void {
  record.isOpen = false
  for (const work of record.onEnd.splice(0)) work()
}

/** Sets the successful candidate, or the first one if all failed. */
export function setCandidate (record: RequestRecord, candidate: Candidate | undefined): void {
  record.model = candidate?.model.id ?? null
  record.priceBasis = candidate?.model.priceBasis
  record.provider = candidate?.provider.id ?? null
  record.upstreamModel = candidate?.deployment.model ?? null
}

/** Calls `work` when no use case works on the request anymore, at once if none does. */
export function afterWork (record: RequestRecord, work: () => void): void {
  if (record.isOpen) record.onEnd.push(work)
  else work()
}

export function createRequestRecord (keepsWords = true): RequestRecord {
  return {
    calls: [],
    keepsWords,
    words: null,
    code: null,
    isStream: false,
    heldNano: null,
    requestedModel: null,
    model: null,
    provider: null,
    upstreamModel: null,
    route: null,
    attempts: 0,
    report: null,
    maxTokens: null,
    images: null,
    job: null,
    plugins: null,
    firstByteAtMs: null,
    costNano: null,
    failure: null,
    isOpen: false,
    onEnd: []
  }
}

const maxRequestedLength = 128

/** The requested model id, shortened and redacted, because it can be any text. */
export function requestedModelOf (
  { requestedModel, model }: Pick<RequestRecord, 'requestedModel' | 'model'>
): string | null {
  if (requestedModel === null || requestedModel === model) return requestedModel
  return redacted(requestedModel, maxRequestedLength)
}

const maxCalls = 20

/** Records a call of a candidate that begins now. */
export function recordCall (
  record: RequestRecord, { provider, deployment, model }: Candidate, startedMs: number
): CallRecord {
  const call: CallRecord = {
    provider: provider.id,
    model: deployment.model,
    startedMs,
    endedMs: null,
    status: null,
    failure: null,
    code: null,
    words: null,
    priceBasis: model.priceBasis
  }
  if (record.calls.length < maxCalls) record.calls.push(call)
  return call
}

/** Records that a call has failed, now. */
export function recordCallFailure (call: CallRecord, error: unknown, record: RequestRecord): void {
  call.endedMs = performance.now()
  recordFailure(call, error, record)
}

function recordFailure (call: CallRecord, error: unknown, { keepsWords }: RequestRecord): void {
  if (!(error instanceof UpstreamError)) return
  call.failure = error.kind
  call.status = error.details.status ?? call.status
  call.code = plainCode(error.details.code)
  call.words = keepsWords ? providerWords(error) : null
}

/** Records the error that ended a request, with the client's `code`. */
export function recordEnding (record: RequestRecord, error: unknown, code: string | null): void {
  record.code = code
  if (!(error instanceof UpstreamError)) return
  record.words = record.keepsWords ? providerWords(error) : null
  // A stream may break off after its call has succeeded.
  const last = record.calls.at(-1)
  if (last !== undefined && last.failure === null && error.kind !== 'aborted') recordFailure(last, error, record)
}

const maxNames = 32

/**
 * The response headers about the route: the public id of the model that ran, its provider and its name there,
 * the number of upstream calls, the route of `auto`, the gateway's output limit, and the dropped parameters.
 */
export function headersOf (record: RequestRecord, dropped: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {
    'x-tollgate-model': headerText(record.model ?? ''),
    'x-tollgate-provider': headerText(record.provider ?? ''),
    'x-tollgate-upstream-model': headerText(record.upstreamModel ?? ''),
    'x-tollgate-attempts': String(record.attempts)
  }
  if (record.route !== null) headers['x-tollgate-route'] = record.route
  if (record.maxTokens !== null) headers['x-tollgate-max-tokens'] = String(record.maxTokens)
  const names = namesOf(dropped)
  if (names.length > 0) headers['x-tollgate-dropped-params'] = names.join(', ')
  return headers
}

/** Names of parameters for a header; a client can send any text as a name. */
function namesOf (dropped: readonly string[]): string[] {
  if (dropped.length === 0) return []
  return [...new Set(dropped)].filter(name => /^[\w.[\]-]{1,64}$/.test(name)).slice(0, maxNames)
}
