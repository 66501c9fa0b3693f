import { constants, createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { EntraConfig } from '../../../schemas/config/entra.ts'
import { isText } from '../../shared/json.ts'
import { createJwt } from '../json-web-token.ts'
import { callIdentityService, jsonIn, readToken, unreadable, wrongCredentials } from './request-token.ts'
import type { AccessToken } from './token-source.ts'

const defaultAuthority = 'https://login.microsoftonline.com'
const defaultScope = 'https://cognitiveservices.azure.com/.default'
/** Of a virtual machine of Azure. */
const metadataUrl = 'http://169.254.169.254/metadata/identity/oauth2/token'

/**
 * Fetches an access token of Microsoft Entra ID: by a secret, a certificate or a federated token of an
 * application, else by the managed identity of the machine. Files are read for each token, because a mounted
 * secret may be replaced. Throws UpstreamError with `sent: 'no'`. Sources: @azure/identity 4.13.1,
 * @azure/msal-node 7.2.3.
 */
export async function fetchEntraToken (
  config: EntraConfig, metadata: string = metadataUrl
): Promise<AccessToken> {
  const { tenantId, clientId } = config
  const authority = (config.authority ?? defaultAuthority).replace(/\/$/, '')
  const url = `${authority}/${tenantId}/oauth2/v2.0/token`
  const proof = await proofOf(config, url)
  if (proof === null) return await tokenOfMachine(config, metadata)
  if (tenantId === null || clientId === null) throw wrongCredentials('The tenant or the application is missing.')
  const form = {
    grant_type: 'client_credentials', client_id: clientId, scope: config.scope ?? defaultScope, ...proof
  }
  return readToken(await callIdentityService({ url, form }), Date.now())
}

/** What proves that the gateway is the application; null if nothing does. */
async function proofOf (
  config: EntraConfig, audience: string
): Promise<Record<string, string> | null> {
  const { clientId, clientSecret, certificate, certificatePassword, federatedTokenFile } = config
  if (clientSecret !== null) return { client_secret: clientSecret }
  if (certificate !== null) {
    const pem = await readSecret(certificate, 'certificate')
    return asAssertion(signedAssertion(pem, certificatePassword, clientId ?? '', audience))
  }
  if (federatedTokenFile === null) return null
  return asAssertion((await readSecret(federatedTokenFile, 'federated token')).trim())
}

/** Source: RFC 7523. */
function asAssertion (assertion: string): Record<string, string> {
  return { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', client_assertion: assertion }
}

/** A JWT that lasts ten minutes, signed with the key of a certificate. */
function signedAssertion (pem: string, password: string | null, clientId: string, audience: string): string {
  try {
    const thumbprint = Buffer.from(new X509Certificate(pem).fingerprint256.replaceAll(':', ''), 'hex')
    const issued = Math.floor(Date.now() / 1000)
    const header = { alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint.toString('base64url') }
    const claims = {
      aud: audience, iss: clientId, sub: clientId, jti: randomUUID(), nbf: issued, exp: issued + 600
    }
    const key = createPrivateKey({ key: pem, ...(password === null ? {} : { passphrase: password }) })
    return createJwt(header, claims, text => sign('sha256', text, {
      key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST
    }))
  } catch {
    throw wrongCredentials('The certificate or its private key cannot be read.')
  }
}

async function readSecret (path: string, name: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => { throw wrongCredentials(`The file of the ${name} cannot be read.`) })
}

/** The managed identity of App Service, where the environment names its endpoint, or of a machine. */
async function tokenOfMachine (
  { clientId, scope, endpoint, header }: EntraConfig, metadata: string
): Promise<AccessToken> {
  const resource = (scope ?? defaultScope).replace(/\/\.default$/, '')
  const isService = endpoint != null && header != null
  const url = new URL(isService ? endpoint : metadata)
  url.searchParams.set('api-version', isService ? '2019-08-01' : '2018-02-01')
  url.searchParams.set('resource', resource)
  if (clientId !== null) url.searchParams.set('client_id', clientId)
  const headers: Record<string, string> = isService ? { 'x-identity-header': header } : { metadata: 'true' }
  const received = jsonIn(await callIdentityService({ url: url.href, headers }))
  const { access_token: token, expires_on: end } = received
  // Seconds since 1970, as a number or a text.
  const expiresAt = Number(end) * 1000
  if (!isText(token) || !(expiresAt > Date.now())) throw unreadable()
  return { token, expiresAt }
}
