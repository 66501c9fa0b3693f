import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload } from 'jose'
import { isText } from '../../shared/json.ts'
import { definePlugin, type Identity } from '../types.ts'

export interface JwtOptions {
  /** The address of the issuer's keys (JWKS). */
  jwks: string
  /** The required `iss` and `aud`. */
  issuer: string
  audience: string
  /** The allowed algorithms; `RS256` and `ES256` by default. */
  algorithms?: readonly string[]
  /** The claim with the account; without it, `account` pays for all. */
  account_claim?: string
  account?: string
  /** The claim that names the user: `sub` by default. */
  subject_claim?: string
  /** Whether an account is created at the first request of one of its users. */
  create_accounts?: boolean
  /** Settings of a new user's key. */
  models?: readonly string[]
  requests_per_minute?: number
}

/** Symmetric algorithms and `none` would let anyone with the public keys sign. */
const possible = new Set([
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'
])
const clockToleranceS = 30
const faults = [
  errors.JWTClaimValidationFailed, errors.JWTExpired, errors.JWTInvalid, errors.JWSInvalid,
  errors.JOSEAlgNotAllowed, errors.JOSENotSupported, errors.JWKSNoMatchingKey,
  errors.JWSSignatureVerificationFailed
]

/**
 * Logs users in by a JSON Web Token of an identity provider, sent as the API key. Any other key is left to
 * the next plugin; a token that is invalid or has expired is a 401.
 */
export default definePlugin((options: JwtOptions) => {
  const { jwks, issuer, audience, algorithms = ['RS256', 'ES256'] } = options
  if (![jwks, issuer, audience].every(isText)) throw new TypeError('needs the options jwks, issuer and audience')
  if (!isText(options.account) && !isText(options.account_claim)) {
    throw new TypeError('needs the option account or account_claim')
  }
  const url = URL.parse(jwks)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new TypeError('needs an address as jwks')
  const wrong = algorithms.find(algorithm => !possible.has(algorithm))
  if (wrong !== undefined || algorithms.length === 0) {
    throw new TypeError(`allows only the algorithms ${[...possible].join(', ')}`)
  }
  // Keys are fetched again for an unknown key id, at most every 30 s, and every 10 minutes.
  const times = { timeoutDuration: 4_000, cooldownDuration: 30_000, cacheMaxAge: 600_000 }
  const keys = createRemoteJWKSet(url, times)
  const claims = { issuer, audience, clockTolerance: clockToleranceS, requiredClaims: ['exp'] }
  const verification = { ...claims, algorithms: [...algorithms] }

  return {
    name: 'tollgate/jwt',
    async authenticate ({ headers: { authorization = '' } }, { reject }) {
      const token = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i.exec(authorization)?.[1]
      if (token === undefined) return null
      try {
        const { payload } = await jwtVerify(token, keys, verification)
        return identityOf(payload, options)
      } catch (error) {
        if (!isInvalid(error)) throw error
        return reject(401, 'The token of this request is invalid or has expired.', 'invalid_token')
      }
    }
  }
})

/** Whether the token is at fault, rather than the address of the keys. */
function isInvalid (error: unknown): boolean {
  return faults.some(fault => error instanceof fault)
}

/** Throws JWTClaimValidationFailed for a token that names no user or account. */
function identityOf (payload: JWTPayload, options: JwtOptions): Identity {
  const { account_claim: accountClaim, account, subject_claim: subjectClaim = 'sub', models } = options
  const subject = payload[subjectClaim]
  const payer = accountClaim === undefined ? account : payload[accountClaim]
  if (!isText(subject) || !isText(payer)) {
    throw new errors.JWTClaimValidationFailed('The token names no user or account.', payload)
  }
  return {
    account: payer,
    subject,
    createAccount: options.create_accounts === true,
    ...models !== undefined && { models },
    ...options.requests_per_minute !== undefined && { requestsPerMinute: options.requests_per_minute }
  }
}
