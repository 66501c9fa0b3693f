import { UpstreamError } from '../shared/errors.ts'

/** The 400 for a feature that the provider's API lacks; another provider may be tried. */
export function unsupportedFeature (param: string, what: string): UpstreamError {
  const message = `This model is served by a provider that cannot take ${what}.`
  return new UpstreamError('bad_request', 'no', message, { status: 400, param, code: 'unsupported_parameter' })
}

/** The 400 for a value that the provider's API refuses. */
export function invalid (param: string, message: string): UpstreamError {
  return new UpstreamError('bad_request', 'no', message, { status: 400, param, code: 'invalid_value' })
}
