import { sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { createJwt } from '../json-web-token.ts'
import { readGoogleCredentials, textOfCredentials as textOf } from './google-credentials.ts'
import {
  callIdentityService, jsonIn, readToken, unreadable, wrongCredentials
} from './request-token.ts'
import type { AccessToken } from './token-source.ts'

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const tokenUrl = 'https://oauth2.googleapis.com/token'
const metadataOrigin = 'http://metadata.google.internal'

interface GoogleTokenOptions {
  /** Of the metadata server. */
  metadata?: string
  /** Where the credentials of `gcloud` are. */
  home?: string
}

/**
 * Fetches an access token for Google Cloud by Application Default Credentials; `source` is as
 * `readGoogleCredentials` takes it. Throws UpstreamError with `sent: 'no'`. Source: google-auth-library
 * 10.9.1, and google.aip.dev/auth/4112 to 4117.
 */
export async function fetchGoogleToken (
  source: string | null, { metadata = metadataOrigin, home }: GoogleTokenOptions = {}
): Promise<AccessToken> {
  const credentials = await readGoogleCredentials(source, home)
  if (credentials === null) return await tokenOfMachine(metadata)
  const token = await tokenOf(credentials)
  const { quota_project_id: quota } = credentials
  return isText(quota) ? { ...token, headers: { 'x-goog-user-project': quota } } : token
}

async function tokenOf (credentials: JsonObject): Promise<AccessToken> {
  switch (credentials.type) {
    case 'service_account': return await tokenOfServiceAccount(credentials)
    case 'authorized_user': return await tokenOfUser(credentials)
    case 'external_account': return await tokenOfWorkload(credentials)
    case 'impersonated_service_account': {
      const { source_credentials: inner } = credentials
      if (!isObject(inner)) throw wrongCredentials("The credentials have no 'source_credentials'.")
      return await impersonated(credentials, await tokenOf(inner))
    }
    default: throw wrongCredentials(`Credentials of the type ${JSON.stringify(credentials.type)} are not supported.`)
  }
}

/** Source: developers.google.com/identity/protocols/oauth2/service-account. */
async function tokenOfServiceAccount (account: JsonObject): Promise<AccessToken> {
  const url = isText(account.token_uri) ? account.token_uri : tokenUrl
  return await exchange(url, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: assertionOf(account, url)
  })
}

/** A JWT that lasts an hour, signed with the key of the account. Source: RFC 7523. */
function assertionOf (account: JsonObject, audience: string): string {
  const issued = Math.floor(Date.now() / 1000)
  const header = { alg: 'RS256', typ: 'JWT', kid: account.private_key_id }
  const claims = { iss: textOf(account, 'client_email'), scope, aud: audience, iat: issued, exp: issued + 3600 }
  const key = textOf(account, 'private_key')
  try {
    return createJwt(header, claims, text => sign('RSA-SHA256', text, key))
  } catch {
    throw wrongCredentials("The 'private_key' of the service account cannot be read.")
  }
}

async function tokenOfUser (user: JsonObject): Promise<AccessToken> {
  return await exchange(isText(user.token_uri) ? user.token_uri : tokenUrl, {
    grant_type: 'refresh_token',
    client_id: textOf(user, 'client_id'),
    client_secret: textOf(user, 'client_secret'),
    refresh_token: textOf(user, 'refresh_token')
  })
}

/** Workload identity federation: the token of another provider for one of Google's. Source: RFC 8693. */
async function tokenOfWorkload (workload: JsonObject): Promise<AccessToken> {
  const token = await exchange(textOf(workload, 'token_url'), {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    audience: textOf(workload, 'audience'),
    subject_token_type: textOf(workload, 'subject_token_type'),
    subject_token: await subjectToken(workload.credential_source),
    scope
  })
  return isText(workload.service_account_impersonation_url) ? await impersonated(workload, token) : token
}

async function subjectToken (source: unknown): Promise<string> {
  const { file, url, headers, format } = isObject(source) ? source : {}
  const text = isText(file)
    ? await readFile(file, 'utf8').catch(() => { throw wrongCredentials('The file of the subject token cannot be read.') })
    : isText(url) ? await callIdentityService({ url, headers: texts(headers) }) : null
  if (text === null) throw wrongCredentials('The subject token must come from a file or a URL.')
  const { type, subject_token_field_name: name } = isObject(format) ? format : {}
  const token = type === 'json' ? jsonIn(text)[String(name)] : text.trim()
  if (!isText(token)) throw wrongCredentials('The source of the subject token has none.')
  return token
}

function texts (value: unknown): Record<string, string> {
  const entries = Object.entries(isObject(value) ? value : {})
  return Object.fromEntries(entries.flatMap(([name, text]) => isText(text) ? [[name, text]] : []))
}

/** The token of a service account that the holder of `token` may act as. */
async function impersonated (credentials: JsonObject, { token }: AccessToken): Promise<AccessToken> {
  const { delegates, service_account_impersonation: options } = credentials
  const seconds = isObject(options) ? Number(options.token_lifetime_seconds) : NaN
  const json = jsonIn(await callIdentityService({
    url: textOf(credentials, 'service_account_impersonation_url'),
    headers: { authorization: `Bearer ${token}` },
    json: { scope: [scope], lifetime: `${seconds > 0 ? seconds : 3600}s`, ...(Array.isArray(delegates) ? { delegates } : {}) }
  }))
  const expiresAt = Date.parse(String(json.expireTime))
  if (!isText(json.accessToken) || Number.isNaN(expiresAt)) throw unreadable()
  return { token: json.accessToken, expiresAt }
}

/** The identity of a machine of Google Cloud, or of a pod by GKE's workload identity. */
async function tokenOfMachine (origin: string): Promise<AccessToken> {
  const url = `${origin}/computeMetadata/v1/instance/service-accounts/default/token`
  const text = await callIdentityService({ url, headers: { 'metadata-flavor': 'Google' } }).catch(error => {
    if (!(error instanceof UpstreamError) || error.kind !== 'network') throw error
    const why = 'There are no credentials of Google Cloud, and no metadata server that has some.'
    throw new UpstreamError('network', 'no', why, { cause: error.cause })
  })
  return readToken(text, Date.now())
}

async function exchange (url: string, form: Record<string, string>): Promise<AccessToken> {
  return readToken(await callIdentityService({ url, form }), Date.now())
}
