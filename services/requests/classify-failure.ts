import type { Deployment } from '../models/deployments/deployments.ts'
import { isMissingModel, isServedElsewhere } from '../providers/refusals.ts'
import { GatewayError, UpstreamError, type UpstreamErrorKind } from '../shared/errors.ts'

/**
 * The meaning of a failure for the request. `stop`: no other deployment would succeed. `model`: no other
 * deployment of this model would. `refused`: this deployment would hardly succeed. `slow`: it may take as
 * long again. `passing`: it may succeed next time.
 */
export type Meaning = 'stop' | 'model' | 'refused' | 'slow' | 'passing'

const meanings: Readonly<Record<UpstreamErrorKind, Meaning>> = {
  bad_request: 'stop',
  moderated: 'stop',
  too_large: 'stop',
  aborted: 'stop',
  not_found: 'refused',
  auth: 'refused',
  quota: 'refused',
  timeout: 'slow',
  rate: 'passing',
  overloaded: 'passing',
  network: 'passing',
  bad_reply: 'passing'
}

/**
 * Classifies a failure before the first byte. A request that a fallback or one provider's API does not
 * support may suit the other candidates; a moderated prompt is not sent to other providers.
 */
export function meaningOf (error: UpstreamError, isFallback: boolean): Meaning {
  const { kind } = error
  if (isUntranslatable(error) || isServedElsewhere(error)) return 'refused'
  return isFallback && (kind === 'bad_request' || kind === 'too_large') ? 'model' : meanings[kind]
}

/** Whether the request could not be translated for the provider, so that it was not called. */
export function isUntranslatable ({ kind, sent }: UpstreamError): boolean {
  return kind === 'bad_request' && sent === 'no'
}

/** Whether the provider may have worked on the request and may charge for it. */
export function isUnsure ({ sent, details: { status } }: UpstreamError): boolean {
  return sent === 'maybe' || (sent === 'yes' && (status === undefined || status < 300))
}

/**
 * The meaning of a failure for the deployment. A rate limit or a missing model is a pause, not a failure;
 * after a wrong address, every client gets the error that names it.
 */
export function blameOf (error: UpstreamError): 'works' | 'fails' | 'nothing' {
  const { kind, details } = error
  if (isUntranslatable(error)) return 'nothing'
  if (details.shouldRetry === false || kind === 'aborted' || kind === 'rate' || details.missingUrl !== undefined || isMissingModel(error)) return 'nothing'
  return kind === 'bad_request' || kind === 'moderated' || kind === 'too_large' ? 'works' : 'fails'
}

/** Whether the prompt cannot be the reason: the connection failed before the request was sent. */
export function isAnyKeys ({ kind, sent }: UpstreamError): boolean {
  return sent === 'no' && (kind === 'network' || kind === 'timeout')
}

/** Whether the whole provider failed, rather than one of its models or the request. */
export function isProviders ({ kind }: UpstreamError, meaning: Meaning): boolean {
  return meaning !== 'model' && kind !== 'not_found'
}

/** From failures that the client can fix, over temporary ones, to those that only the operator can fix. */
const byUse: readonly UpstreamErrorKind[] = [
  'bad_request', 'moderated', 'too_large', 'rate', 'overloaded', 'timeout', 'bad_reply', 'network', 'not_found', 'quota',
  'auth'
]

/**
 * The failure to report after all candidates have failed; undefined without one. A feature that one
 * provider's API lacks is the reason only if no other provider was called. The earliest of several
 * retry-afters counts: one working deployment is enough.
 */
export function mostTelling (failures: readonly UpstreamError[]): UpstreamError | undefined {
  const rank = ({ kind }: UpstreamError) => byUse.indexOf(kind)
  const called = failures.filter(error => !isUntranslatable(error))
  const telling = called.length > 0 ? called : failures
  const [first, ...others] = telling.toSorted((one, other) => rank(one) - rank(other))
  if (first === undefined) return undefined
  const alike = [first, ...others].filter(({ kind }) => kind === first.kind)
  const waits = alike.map(({ details }) => details.retryAfterMs).filter(ms => ms !== undefined)
  if (waits.length === 0 || first.details.retryAfterMs === Math.min(...waits)) return first
  const details = { ...first.details, retryAfterMs: Math.min(...waits) }
  return new UpstreamError(first.kind, first.sent, first.message, details)
}

/** The same failure after its retry-after was waited out once, by the gateway or the client. */
export function afterWaiting ({ kind, sent, message, details }: UpstreamError): UpstreamError {
  return new UpstreamError(kind, sent, message, { ...details, hasWaited: true })
}

/** 503: all circuit breakers are open, so no deployment was called. */
export function unavailable (deployments: readonly Deployment[]): GatewayError {
  const nowMs = performance.now()
  const waitMs = Math.min(...deployments.map(({ breaker }) => breaker.waitMs(nowMs)))
  return GatewayError.unavailable('The model is unavailable for now, because its providers keep failing. Please try again later.',
    { retryAfterS: waitMs / 1000, code: 'model_unavailable' })
}

/** Whether the gateway gave up a call that the provider has received, and the provider did not fail. */
export function isWorkLost (error: unknown): boolean {
  if (!(error instanceof UpstreamError) || error.sent === 'no') return false
  return error.kind === 'aborted' || (error.kind === 'timeout' && error.details.status === undefined)
}
