import { constants, randomUUID, verify, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

export const application = {
  tenantId: 'f1d4b7a0-0000-4000-8000-000000000001',
  clientId: '0b9a2c1e-0000-4000-8000-000000000002',
  clientSecret: 'Q~8secret',
  federatedToken: 'projected.service.account'
}
export const pemFile = join(import.meta.dirname, '../fixtures/azure/application.pem')
export const apiKey = 'azure-key'

interface Seen { method: string, url: URL, headers: IncomingHttpHeaders, body: Record<string, unknown> }
interface Response { status: number, body: unknown, headers?: Record<string, string> }

const thumbprint = Buffer.from(new X509Certificate(readFileSync(pemFile)).fingerprint256.replaceAll(':', ''), 'hex')
const resource = 'https://cognitiveservices.azure.com'

/**
 * Microsoft Entra ID, the two managed identities and an Azure OpenAI resource with the deployment
 * `team-mini`, as strict as they are. Sources: @azure/msal-node 7.2.3; openai 7.55.0, `azure.mjs`.
 */
export async function startAzure (t: { teardown (work: () => unknown): void }) {
  const valid = new Set<string>()
  const state = {
    lastsS: 3600,
    calls: [] as Seen[],
    tokenCalls: [] as Seen[],
    script: [] as Response[],
    revoke: () => valid.clear()
  }

  function issue (): string {
    const token = `eyJ.${randomUUID()}`
    valid.add(token)
    return token
  }

  function tokenFor ({ url, headers, body }: Seen): Response {
    const { pathname, searchParams: query } = url
    if (pathname === `/${application.tenantId}/oauth2/v2.0/token`) {
      const why = refusalOf(body, url.href)
      if (why !== null) return { status: 401, body: { error: 'invalid_client', error_description: why } }
      return { status: 200, body: { token_type: 'Bearer', expires_in: state.lastsS, access_token: issue() } }
    }
    const machine = pathname === '/metadata/identity/oauth2/token' && headers.metadata === 'true' &&
      query.get('api-version') === '2018-02-01'
    const service = pathname === '/msi/token' && headers['x-identity-header'] === 'id-header' &&
      query.get('api-version') === '2019-08-01'
    if ((!machine && !service) || query.get('resource') !== resource) {
      return { status: 400, body: { error: 'invalid_request', error_description: 'Required metadata header not specified' } }
    }
    const end = String(Math.floor(Date.now() / 1000) + state.lastsS)
    return { status: 200, body: { access_token: issue(), expires_on: end, resource, token_type: 'Bearer' } }
  }

  function respond ({ url, headers, body }: Seen): Response {
    const scripted = state.script.shift()
    if (scripted !== undefined) return scripted
    const token = headers.authorization?.replace(/^Bearer /, '')
    if (headers['api-key'] !== apiKey && (token === undefined || !valid.has(token))) {
      const message = 'Access denied due to invalid subscription key or wrong API endpoint.'
      return { status: 401, body: { error: { code: '401', message } } }
    }
    const { pathname, searchParams } = url
    const version = searchParams.get('api-version') ?? 'v1'
    const dated = /^\/openai\/deployments\/([^/]+)(\/.+)$/.exec(pathname)
    const isDated = /^\d{4}-\d{2}-\d{2}(-preview)?$/.test(version)
    const name = isDated ? dated?.[1] : body['model']
    const path = isDated ? dated?.[2] : /^\/openai\/v1(\/.+)$/.exec(pathname)?.[1]
    if (path === undefined) return { status: 404, body: { error: { code: '404', message: 'Resource not found' } } }
    if (name !== 'team-mini') {
      const message = 'The API deployment for this resource does not exist. If you created the deployment within the last ' +
        '5 minutes, please wait a moment and try again.'
      return { status: 404, body: { error: { code: 'DeploymentNotFound', message } } }
    }
    if (path !== '/chat/completions') return { status: 404, body: { error: { code: '404', message: 'Resource not found' } } }
    return { status: 200, body: completion }
  }

  const server = createServer(async (incoming, response) => {
    const text = (await incoming.toArray()).join('')
    const body = text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
    const url = new URL(incoming.url ?? '/', `http://${incoming.headers.host}`)
    const seen = { method: incoming.method ?? '', url, headers: incoming.headers, body }
    const isToken = url.pathname.includes('token')
    state[isToken ? 'tokenCalls' : 'calls'].push(seen)
    const { status, body: answer, headers } = isToken ? tokenFor(seen) : respond(seen)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  return Object.assign(state, { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

function refusalOf (form: Record<string, unknown>, audience: string): string | null {
  if (form['grant_type'] !== 'client_credentials') return 'AADSTS70003: The app requested an unsupported grant type.'
  if (form['client_id'] !== application.clientId) return 'AADSTS700016: Application was not found in the directory.'
  if (form['scope'] !== `${resource}/.default`) return 'AADSTS70011: The provided value for scope is not valid.'
  const { client_secret: secret, client_assertion: assertion, client_assertion_type: type } = form
  if (secret !== undefined) return secret === application.clientSecret ? null : 'AADSTS7000215: Invalid client secret provided.'
  if (type !== 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer') return 'AADSTS7000216: client_assertion is required.'
  if (assertion === application.federatedToken) return null
  return isSigned(String(assertion), audience) ? null : 'AADSTS700027: The certificate with identifier used to sign is not registered.'
}

function isSigned (assertion: string, audience: string): boolean {
  const [head = '', payload = '', signature = ''] = assertion.split('.')
  const { alg, 'x5t#S256': x5t } = decoded(head)
  const { aud, iss, sub, exp, nbf, jti } = decoded(payload)
  const nowS = Date.now() / 1000
  if (alg !== 'PS256' || x5t !== thumbprint.toString('base64url')) return false
  if (aud !== audience || jti === undefined) return false
  if (iss !== application.clientId || sub !== iss) return false
  if (!(Number(nbf) <= nowS) || !(Number(exp) > nowS)) return false
  const key = new X509Certificate(readFileSync(pemFile)).publicKey
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
  return verify('sha256', Buffer.from(`${head}.${payload}`), { key, ...padding }, Buffer.from(signature, 'base64url'))
}

function decoded (part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString())
}

const severity = { filtered: false, severity: 'safe' }
export const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini-2024-07-18',
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: severity } }],
  choices: [{
    index: 0,
    finish_reason: 'stop',
    logprobs: null,
    content_filter_results: { hate: severity },
    message: { role: 'assistant', content: 'In the woods.', refusal: null }
  }],
  usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 }
}

/** What Azure sends when its filter stops a prompt. Source: learn.microsoft.com, "Content filtering". */
export const filtered = {
  error: {
    message: 'The response was filtered due to the prompt triggering Azure OpenAI\'s content management policy.',
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: {
      code: 'ResponsibleAIPolicyViolation',
      content_filter_result: { hate: severity, violence: { filtered: true, severity: 'high' } }
    }
  }
}
