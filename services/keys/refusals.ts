import { GatewayError } from '../shared/errors.ts'
import type { KeyRole } from './rows.ts'
import { maskKey } from './token.ts'

const whatToDo = 'Ask the operator of this gateway for a valid key.'
const useUserKey = 'requests need the key of a user.'

/** 401 in OpenAI's words, with code null: the request carries no bearer token. */
export function missingKey (): GatewayError {
  return GatewayError.unauthorized(
    'You didn\'t provide an API key. You need to provide your API key in an Authorization header using Bearer ' +
    'auth (i.e. Authorization: Bearer YOUR_KEY). Ask the operator of this gateway for one.', null
  )
}

/** 401 in OpenAI's words, the key masked: malformed, unknown, or the wrong secret. */
export function incorrectKey (key: string): GatewayError {
  return GatewayError.unauthorized(`Incorrect API key provided: ${maskKey(key)}. ${whatToDo}`)
}

/** 401, the key masked: it was right once and has been revoked. */
export function revokedKey (key: string): GatewayError {
  return GatewayError.unauthorized(`The API key provided has been revoked: ${maskKey(key)}. ${whatToDo}`)
}

/** 401, the key masked: its time is over. */
export function expiredKey (key: string): GatewayError {
  return GatewayError.unauthorized(`The API key provided has expired: ${maskKey(key)}. ${whatToDo}`)
}

/** 401, the key masked: its secret was replaced by a rotation, and the time to change over is past. */
export function rotatedKey (key: string): GatewayError {
  return GatewayError.unauthorized(
    `The API key provided has been replaced by a newer one: ${maskKey(key)}. ${whatToDo}`)
}

/** 401, the key masked: it is good, but for the other half of the gateway than the one that wants `role`. */
export function wrongRole (key: string, role: KeyRole): GatewayError {
  const message = role === 'user'
    ? `The API key provided is an admin key: ${maskKey(key)}. It opens the admin API and nothing else; ${useUserKey}`
    : `The API key provided is not an admin key: ${maskKey(key)}. ${whatToDo}`
  return GatewayError.unauthorized(message)
}

/** 404: there is no key of that id. */
export function unknownKey (id: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error', `The key \`${id.slice(0, 64)}\` does not exist.`,
    { code: 'key_not_found' })
}

/** 409: what was revoked stays as it is. */
export function alreadyRevoked (id: string): GatewayError {
  return new GatewayError(409, 'invalid_request_error', `The key \`${id}\` has been revoked; create another one.`,
    { code: 'key_revoked' })
}
