import { GatewayError } from '../../shared/errors.ts'

/**
 * 422: an Idempotency-Key with another body. Source: draft-ietf-httpapi-idempotency-key-header-07, section
 * 2.7.
 */
export function nameReused (): GatewayError {
  return new GatewayError(422, 'invalid_request_error',
    'This Idempotency-Key was used for another request. Use a new key, or send the same request again.',
    { code: 'idempotency_key_reused', headers: { 'x-should-retry': 'false' } })
}

/** 503: concurrent requests with the same Idempotency-Key keep beginning and ending. */
export function tooManyAtOnce (): GatewayError {
  return GatewayError.unavailable('Too many concurrent requests with this Idempotency-Key.')
}
