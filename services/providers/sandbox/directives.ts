import { UpstreamError, type UpstreamErrorKind } from '../../shared/errors.ts'

/** Faults requested by a user message of the form `sandbox:…`. */
export interface Directive {
  error: UpstreamError | null
  /** Delay before the reply, at most `maxDelayMs`. */
  delayMs: number
  /** Thrown after `breakAfter` chunks of a stream, or at once without streaming. */
  breakOff: UpstreamError | null
  breakAfter: number
}

/**
 * Parses `sandbox:error <name>` and `sandbox:delay <milliseconds>`, if the text is nothing else; a header has
 * the same without `sandbox:`.
 */
export function readDirective (text: string, header?: string): Directive {
  const given = header === undefined ? text : `sandbox:${header}`
  const [, verb, name = ''] = /^sandbox:(error|delay) ([\w-]{1,20})$/.exec(given.trim()) ?? []
  if (verb === 'delay' && /^\d+$/.test(name)) return { ...nothing, delayMs: Math.min(Number(name), maxDelayMs) }
  if (verb !== 'error') return nothing
  if (name === 'mid-stream') {
    return { ...nothing, breakOff: new UpstreamError('network', 'yes', 'The sandbox broke the stream, as requested.') }
  }
  const failure = failures.get(name)
  if (failure === undefined) return nothing
  const { kind, sent, message, ...details } = failure
  return { ...nothing, error: new UpstreamError(kind, sent, message, { ...details, shouldRetry: false }) }
}

const maxDelayMs = 600_000

const nothing: Directive = { error: null, delayMs: 0, breakOff: null, breakAfter: 5 }

interface Failure {
  kind: UpstreamErrorKind
  sent: 'no' | 'maybe' | 'yes'
  message: string
  status?: number
  retryAfterMs?: number
  type?: string
  code?: string
}

const failures = new Map<string, Failure>(Object.entries<Failure>({
  400: {
    kind: 'bad_request',
    sent: 'yes',
    message: 'The sandbox rejected the request, as requested.',
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_value'
  },
  401: { kind: 'auth', sent: 'yes', message: 'The sandbox rejected the API key, as requested.', status: 401 },
  402: { kind: 'quota', sent: 'yes', message: 'The sandbox has no credit left, as requested.', status: 402 },
  404: { kind: 'not_found', sent: 'yes', message: 'The sandbox does not have this model, as requested.', status: 404 },
  413: { kind: 'too_large', sent: 'yes', message: 'The request is too large for the sandbox, as requested.', status: 413 },
  429: {
    kind: 'rate',
    sent: 'yes',
    message: 'The sandbox limits the rate, as requested.',
    status: 429,
    retryAfterMs: 1_000,
    type: 'requests',
    code: 'rate_limit_exceeded'
  },
  500: { kind: 'bad_reply', sent: 'yes', message: 'The sandbox failed, as requested.', status: 500 },
  503: { kind: 'overloaded', sent: 'yes', message: 'The sandbox is overloaded, as requested.', status: 503, retryAfterMs: 1_000 },
  timeout: { kind: 'timeout', sent: 'yes', message: 'The sandbox did not respond in time, as requested.' },
  network: { kind: 'network', sent: 'maybe', message: 'The connection to the sandbox broke, as requested.' },
  moderated: { kind: 'moderated', sent: 'yes', message: 'The sandbox moderated the request, as requested.', status: 400 }
}))
