import { generateKeyPairSync, verify } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** A request to the identity service; `form` is its body as a form, or the members of its JSON. */
export interface IdentityCall { path: string, headers: IncomingHttpHeaders, form: Record<string, string> }

export interface IdentityResponse { status: number, body: object | string }

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const keys = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' }
})

export const serviceAccount = 'gateway@acme-prod.iam.gserviceaccount.com'
export const user = { client_id: '764086051850.apps', client_secret: 'GOCSPX-secret', refresh_token: '1//09-refresh' }
export const workload = {
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/providers/github',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt'
}
export const subjectToken = 'subject.token.of.the.pod'

/**
 * Google's token endpoint, security token service, IAM credentials and metadata server, as strict as they
 * are. A token lasts for `lastsS` seconds, unless the test revokes it.
 */
export function createGoogleIdentity () {
  const valid = new Set<string>()
  const calls: IdentityCall[] = []
  let count = 0
  const identity = {
    lastsS: 3600,
    calls,
    /** Every token that was issued, oldest first. */
    tokens: [] as string[],
    /** Replaces the next responses. */
    script: [] as IdentityResponse[],
    isValid: (authorization: string | undefined) => valid.has(authorization?.replace(/^Bearer /, '') ?? ''),
    /** Ends all tokens, although they should have lasted longer. */
    revoke () { valid.clear() },
    /** The key file of the service account. */
    keyFile: (origin: string, more: object = {}) => ({
      type: 'service_account',
      project_id: 'acme-prod',
      private_key_id: 'f00d',
      private_key: keys.privateKey,
      client_email: serviceAccount,
      token_uri: `${origin}/token`,
      ...more
    }),
    /** Returns the response to a call; null if it is for another service. */
    respond (call: IdentityCall, origin: string): IdentityResponse | null {
      const handler = handlers[call.path.split('?')[0] ?? '']
      if (handler === undefined) return null
      calls.push(call)
      return identity.script.shift() ?? handler(call, origin)
    }
  }

  function issue (): IdentityResponse {
    const token = `ya29.c.${String(++count).padStart(6, '0')}-secret-token`
    valid.add(token)
    identity.tokens.push(token)
    return { status: 200, body: { access_token: token, expires_in: identity.lastsS, token_type: 'Bearer' } }
  }

  const handlers: Record<string, (call: IdentityCall, origin: string) => IdentityResponse> = {
    '/token': ({ form }, origin) => form.grant_type === 'refresh_token'
      ? isEqual(form, { ...user, grant_type: 'refresh_token' }) ? issue() : refused('Bad Request')
      : complaintAbout(form, `${origin}/token`) ?? issue(),
    '/v1/token': ({ form }) => {
      const expected = {
        ...workload,
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        subject_token: subjectToken,
        scope
      }
      return isEqual(form, expected) ? issue() : refused('The subject token is wrong.')
    },
    [`/v1/projects/-/serviceAccounts/${serviceAccount}:generateAccessToken`]: ({ headers, form }) => {
      if (!identity.isValid(headers.authorization)) return { status: 401, body: { error: { status: 'UNAUTHENTICATED', message: 'Wrong.' } } }
      if (!isEqual(form, { scope: [scope], lifetime: '3600s' })) return { status: 400, body: { error: { status: 'INVALID_ARGUMENT' } } }
      const { access_token: accessToken } = Object(issue().body)
      const expireTime = new Date(Date.now() + identity.lastsS * 1000).toISOString()
      return { status: 200, body: { accessToken, expireTime } }
    },
    '/computeMetadata/v1/instance/service-accounts/default/token': ({ headers }) =>
      headers['metadata-flavor'] === 'Google' ? issue() : { status: 403, body: 'Missing Metadata-Flavor:Google header.' },
    '/subject': ({ headers }) => headers['x-subject'] === 'yes'
      ? { status: 200, body: { value: subjectToken } }
      : { status: 403, body: 'No.' }
  }
  return identity
}

export type GoogleIdentity = ReturnType<typeof createGoogleIdentity>

const isEqual = (one: object, other: object): boolean =>
  JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(other).sort())

function refused (description: string): IdentityResponse {
  return { status: 400, body: { error: 'invalid_grant', error_description: description } }
}

/** What is wrong with an assertion; null: nothing. Source: RFC 7523, and Google's words. */
function complaintAbout (form: Record<string, string>, audience: string): IdentityResponse | null {
  if (form.grant_type !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
    return { status: 400, body: { error: 'unsupported_grant_type' } }
  }
  const [head = '', body = '', signature = ''] = form.assertion?.split('.') ?? []
  const isSigned = verify('RSA-SHA256', Buffer.from(`${head}.${body}`), keys.publicKey, Buffer.from(signature, 'base64url'))
  if (!isSigned) return refused('Invalid JWT Signature.')
  const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  const claims = parse(body)
  const { iat, exp, ...stated } = claims
  if (!isEqual(parse(head), { alg: 'RS256', typ: 'JWT', kid: 'f00d' })) return refused('Invalid JWT header.')
  if (!isEqual(stated, { iss: serviceAccount, scope, aud: audience })) return refused('Invalid JWT claims.')
  const nowS = Date.now() / 1000
  const isTimely = iat <= nowS && iat > nowS - 60 && exp - iat <= 3600 && exp > nowS
  return isTimely ? null : refused('Invalid JWT: Token must be a short-lived token (60 minutes).')
}
