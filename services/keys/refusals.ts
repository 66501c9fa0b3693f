import { GatewayError } from '../errors.ts'
import { maskKey } from './token.ts'

const whatToDo = 'Ask the operator of this gateway for a valid key.'

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
