import { UpstreamError } from '../../shared/errors.ts'
import type { UpstreamErrorKind } from '../../shared/errors.ts'

/** What a last user message of the form `sandbox:…` asks for instead of a plain reply. */
export interface Directive {
  /** Thrown instead of an answer. */
  error: UpstreamError | null
  /** How long to wait before the reply, at most `maxDelayMs`. */
  delayMs: number
  /** Thrown after the first few chunks of a stream, or at once without one. */
  breakOff: UpstreamError | null
}

/**
 * Reads `sandbox:error <name>`, with a name of the table below, `sandbox:error mid-stream` and
 * `sandbox:delay <milliseconds>`; any other text, also one that only contains such words, directs nothing.
 */
export function readDirective (text: string): Directive {
  const [, verb, name = ''] = /^sandbox:(error|delay) ([\w-]{1,20})$/.exec(text.trim()) ?? []
  if (verb === 'delay' && /^\d+$/.test(name)) return { ...nothing, delayMs: Math.min(Number(name), maxDelayMs) }
  if (verb !== 'error') return nothing
  if (name === 'mid-stream') {
    return { ...nothing, breakOff: new UpstreamError('network', 'yes', 'The sandbox broke off its answer, as asked.') }
  }
  const failure = failures.get(name)
  if (failure === undefined) return nothing
  const { kind, sent, message, ...details } = failure
  return { ...nothing, error: new UpstreamError(kind, sent, message, { ...details, shouldRetry: false }) }
}

/** The longest wait a message can ask for. */
export const maxDelayMs = 600_000

const nothing: Directive = { error: null, delayMs: 0, breakOff: null }

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
    message: 'The sandbox refused the request, as asked.',
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_value'
  },
  401: { kind: 'auth', sent: 'yes', message: 'The sandbox refused the key, as asked.', status: 401 },
  402: { kind: 'quota', sent: 'yes', message: 'The sandbox has no money left, as asked.', status: 402 },
  404: { kind: 'not_found', sent: 'yes', message: 'The sandbox has no such model, as asked.', status: 404 },
  413: { kind: 'too_large', sent: 'yes', message: 'The sandbox finds the request too large, as asked.', status: 413 },
  429: {
    kind: 'rate',
    sent: 'yes',
    message: 'The sandbox limits its rate, as asked.',
    status: 429,
    retryAfterMs: 1_000,
    type: 'requests',
    code: 'rate_limit_exceeded'
  },
  500: { kind: 'bad_reply', sent: 'yes', message: 'The sandbox failed, as asked.', status: 500 },
  503: { kind: 'overloaded', sent: 'yes', message: 'The sandbox is overloaded, as asked.', status: 503, retryAfterMs: 1_000 },
  timeout: { kind: 'timeout', sent: 'yes', message: 'The sandbox did not answer in time, as asked.' },
  network: { kind: 'network', sent: 'maybe', message: 'The connection to the sandbox broke, as asked.' },
  moderated: { kind: 'moderated', sent: 'yes', message: 'The sandbox moderated the request, as asked.', status: 400 }
}))
