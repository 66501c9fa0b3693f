import { GatewayError } from '../../shared/errors.ts'

/** 400: what a field asks for cannot be done; `why` is a sentence. */
export function cannotHonour (param: string, why: string): GatewayError {
  return GatewayError.invalidRequest(why, { param, code: 'unsupported_parameter' })
}
