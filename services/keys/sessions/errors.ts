import { GatewayError } from '../../shared/errors.ts'

/** 401: the session has expired, its key is no longer valid, or its holder signed out. */
export function sessionEnded (): GatewayError {
  return GatewayError.unauthorized('Your session has ended. Sign in again.', 'session_ended')
}

/** 403: another page made the browser send this request. */
export function foreignOrigin ([own]: readonly string[]): GatewayError {
  return new GatewayError(403, 'invalid_request_error',
    `A session works only for pages of this gateway, at ${own}; this request came from another origin. Behind a ` +
    'proxy, set PUBLIC_BASE_URL or TOLLGATE_TRUST_PROXY.', { code: 'origin_not_allowed' })
}

/** 403: the header that proves that a page of the gateway made the request is missing or wrong. */
export function wrongCsrfToken (): GatewayError {
  return new GatewayError(403, 'invalid_request_error',
    'The header x-csrf-token is missing or wrong. Its value is the csrf_token of GET /console/session.',
    { code: 'csrf_token_invalid' })
}

/** 403: an operator's key pays for nothing, so a session of one needs a user key for `/v1`. */
export function noPayer (): GatewayError {
  return new GatewayError(403, 'invalid_request_error',
    'An admin key pays for nothing. Choose a user key for this session: PUT /console/session/key.',
    { code: 'user_key_required' })
}

/** 404: no identity provider is configured. */
export function noIdentityProvider (): GatewayError {
  return new GatewayError(404, 'invalid_request_error',
    'This gateway has no identity provider: sign in with a key, or configure console.oidc.', { code: 'oidc_not_configured' })
}

/** 401: the identity provider's response does not match the browser's attempt. */
export function signInFailed (why: string, cause?: unknown): GatewayError {
  return new GatewayError(401, 'invalid_request_error', `The sign-in has failed. ${why} Start again at /console/.`,
    { code: 'sign_in_failed', cause })
}

/** 403: none of the person's groups has a role. */
export function noRole (label: string): GatewayError {
  return new GatewayError(403, 'invalid_request_error',
    `${label} belongs to no group that has a role here. Ask the operator of this gateway.`, { code: 'no_role' })
}

/** 429: too many wrong keys came from one address. */
export function tooManySignIns (retryAfterMs: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return new GatewayError(429, 'rate_limit_error',
    `Too many wrong keys were tried from your address. Try again in ${seconds} s.`,
    { code: 'too_many_sign_ins', headers: { 'retry-after': String(seconds) } })
}
