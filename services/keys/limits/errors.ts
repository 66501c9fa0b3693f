import { GatewayError } from '../../shared/errors.ts'
import type { LimitKind } from '../../shared/limits.ts'

const names = { requests: 'requests per min (RPM)', tokens: 'tokens per min (TPM)', concurrent: 'concurrent requests' }

interface Refusal {
  scope: string
  kind: LimitKind
  limit: number
  left: number
  need: number
  waitMs: number
  headers: Record<string, string>
}

/** 429: a limit has been reached, in the words of OpenAI's live service. */
export function limitReached ({ scope, kind, limit, left, need, waitMs, headers }: Refusal): GatewayError {
  const message = `Rate limit reached for ${nameOf(scope)} on ${names[kind]}: Limit ${limit}, ` +
    `Used ${limit - left}, Requested ${need}. Please try again in ${spanText(waitMs)}.`
  const retry = { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))), 'retry-after-ms': String(Math.ceil(waitMs)) }
  return new GatewayError(429, typeOf(kind), message, { code: 'rate_limit_exceeded', headers: { ...headers, ...retry } })
}

/** 429: one request exceeds the whole limit, so waiting does not help. */
export function tooLarge (
  { scope, kind, limit, need, headers }: Omit<Refusal, 'left' | 'waitMs'>
): GatewayError {
  const message = `Request too large for ${nameOf(scope)} on ${names[kind]}: Limit ${limit}, Requested ${need}. ` +
    'The input or output tokens must be reduced in order to run successfully.'
  // Keeps the SDKs from retrying.
  return new GatewayError(429, typeOf(kind), message,
    { code: 'rate_limit_exceeded', headers: { ...headers, 'x-should-retry': 'false' } })
}

const typeOf = (kind: LimitKind): string => kind === 'tokens' ? 'tokens' : 'requests'

function nameOf (scope: string): string {
  const [type = '', id = ''] = scope.split(/:(.*)/s)
  return `${type} \`${id}\``
}

/** Formats a duration as in `x-ratelimit-reset-requests`, e.g. `120ms`, `1.5s` or `6m0s`. */
export function spanText (ms: number): string {
  const whole = Math.ceil(ms)
  if (whole < 1000) return `${whole}ms`
  if (whole < 60_000) return `${whole / 1000}s`
  const seconds = Math.ceil(whole / 1000)
  return `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
