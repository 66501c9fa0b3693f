import { GatewayError } from '../../shared/errors.ts'

/** 400: a field that no model behind this gateway can honour, or that has no price. */
export function refusedHere (param: string, why: string): GatewayError {
  return GatewayError.unsupportedParameter(param, `The field '${param}' is not supported: ${why}.`)
}
