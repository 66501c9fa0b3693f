import { GatewayError } from '../shared/errors.ts'
import type { AccountStatus } from './types.ts'

const askOperator = 'Ask the operator of this gateway for a valid key.'

/** 401 in OpenAI's words, with code null: the request has no bearer token. */
export function missingKey (): GatewayError {
  return GatewayError.unauthorized(
    'You didn\'t provide an API key. You need to provide your API key in an Authorization header using Bearer ' +
    'auth (i.e. Authorization: Bearer YOUR_KEY). Ask the operator of this gateway for one.', null
  )
}

/** 401: two headers name different keys, and the request may be charged to one account only. */
export function twoKeys (header: string): GatewayError {
  return GatewayError.unauthorized(
    `The headers ${header} and Authorization have different keys. Send one of them.`)
}

/** 401 in OpenAI's words, the key masked: malformed, unknown, or the wrong secret. */
export function incorrectKey (key: string): GatewayError {
  return GatewayError.unauthorized(`Incorrect API key provided: ${maskKey(key)}. ${askOperator}`)
}

/** 401, the key masked: it has been revoked. */
export function revokedKey (key: string): GatewayError {
  return GatewayError.unauthorized(`The API key provided has been revoked: ${maskKey(key)}. ${askOperator}`)
}

/** 401, the key masked: it has expired. */
export function expiredKey (key: string): GatewayError {
  return GatewayError.unauthorized(`The API key provided has expired: ${maskKey(key)}. ${askOperator}`)
}

/** 401, the key masked: its secret was rotated and the grace period is over. */
export function rotatedKey (key: string): GatewayError {
  return GatewayError.unauthorized(
    `The API key provided has been replaced by a newer one: ${maskKey(key)}. ${askOperator}`)
}

/** 401, the key masked: it is valid, but belongs to an operator. */
export function notUser (key: string): GatewayError {
  return GatewayError.unauthorized(`The API key provided is an admin key: ${maskKey(key)}. ` +
    'Admin keys work for the admin API only; use a user key.')
}

/** 401, the key masked: it is valid, but belongs to a user. */
export function notAdmin (key: string): GatewayError {
  return GatewayError.unauthorized(`The API key provided is not an admin key: ${maskKey(key)}. ${askOperator}`)
}

/** 403: the key is valid, but an operator has frozen or closed its account. */
export function inactiveAccount (state: Exclude<AccountStatus, 'active'>): GatewayError {
  return new GatewayError(403, 'invalid_request_error',
    `The account of this API key is ${state}. Contact the operator of this gateway.`,
    { code: `account_${state}`, headers: { 'x-should-retry': 'false' } })
}

/** 404: no key has this id. */
export function unknownKey (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `The key \`${id.slice(0, 64)}\` does not exist.`,
    { code: 'key_not_found' })
}

/** 409: a revoked key cannot be changed. */
export function alreadyRevoked (id: string): GatewayError {
  return new GatewayError(409, 'invalid_request_error',
    `The key \`${id}\` has been revoked and cannot be changed; create a new key.`, { code: 'key_revoked' })
}

/** Shortens a key for messages, e.g. `sk-tg-ab****wxyz`; a short text is masked completely. */
export function maskKey (key: string): string {
  const shown = { first: 8, last: 4 }
  if (key.length < 2 * (shown.first + shown.last)) return '****'
  return `${key.slice(0, shown.first)}****${key.slice(-shown.last)}`
}
