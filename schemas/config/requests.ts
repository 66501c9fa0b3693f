import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { dayMs, flag, milliseconds, strict } from './fields.ts'

/** What holds where the file says nothing. */
export const requestsDefaults = {
  deadlineMs: 600_000,
  retries: 3,
  backoffMs: 250,
  maxRetryAfterMs: 10_000,
  retryUnsure: true,
  hedgeAfterMs: null,
  allowDearerFallbacks: false
} as const

export const breakerDefaults = {
  failures: 10,
  errorRate: 0.5,
  minRequests: 50,
  windowMs: 30_000,
  openMs: 5_000,
  probeEveryMs: null
} as const

/** `requests` of the file. */
export const RequestsEntry = Type.Object({
  deadline_ms: Type.Optional(milliseconds('The longest a request may take, streams and all that is tried included. ' +
    'Clients may ask for less with the header `x-tollgate-deadline-ms`.', requestsDefaults.deadlineMs)),
  retries: Type.Optional(Type.Integer({
    minimum: 0,
    maximum: 10,
    default: requestsDefaults.retries,
    description: 'How often each deployment of a model is tried again before anything was sent to the client.'
  })),
  backoff_ms: Type.Optional(milliseconds(
    'The wait before a deployment is tried again; doubles each time, and is shortened at random.', requestsDefaults.backoffMs)),
  max_retry_after_ms: Type.Optional(milliseconds(
    'A deployment that asks to be left alone for longer is given up.', requestsDefaults.maxRetryAfterMs)),
  retry_unsure: Type.Optional(flag(
    'Whether a request is sent again that the provider may have worked on, and may charge.', requestsDefaults.retryUnsure)),
  hedge_after_ms: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: dayMs,
    description: 'How long to wait for one deployment before a second one of the same price is asked as well. The ' +
      'first answer counts; the provider may charge for both. Default: never.'
  })),
  allow_dearer_fallbacks: Type.Optional(flag(
    'Whether a fallback may cost more than the model that was asked for.', requestsDefaults.allowDearerFallbacks))
}, { ...strict, description: 'How hard the gateway tries to get an answer.' })
export type RequestsEntry = Static<typeof RequestsEntry>

/** `breaker` of the file. */
export const BreakerEntry = Type.Object({
  failures: Type.Optional(Type.Integer({
    minimum: 1, maximum: 1000, default: breakerDefaults.failures, description: 'Failures in a row that open it.'
  })),
  error_rate: Type.Optional(Type.Number({
    minimum: 0.01, maximum: 1, default: breakerDefaults.errorRate, description: 'Share of failed calls in a window that opens it.'
  })),
  min_requests: Type.Optional(Type.Integer({
    minimum: 1, maximum: 1_000_000, default: breakerDefaults.minRequests, description: 'Calls it takes before that share counts.'
  })),
  window_ms: Type.Optional(milliseconds('Length of the window.', breakerDefaults.windowMs)),
  open_ms: Type.Optional(milliseconds(
    'How long it stays open before one request tries again; twice as long each further time, up to a minute.',
    breakerDefaults.openMs)),
  probe_every_ms: Type.Optional(Type.Integer({
    minimum: 100,
    maximum: dayMs,
    description: 'How often providers are asked for their models, to see whether they are there. Default: never; ' +
      'requests tell.'
  }))
}, { ...strict, description: 'When a deployment that fails is left alone.' })
export type BreakerEntry = Static<typeof BreakerEntry>
