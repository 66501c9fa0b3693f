import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { mkdirSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { fetchGoogleToken } from '../../../../services/providers/identity/google-tokens.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import { rejection } from '../../../helpers/thrown.ts'
import {
  createGoogleIdentity, serviceAccount, subjectToken, user, workload, type IdentityCall
} from '../../../servers/google-identity.ts'

const identity = createGoogleIdentity()
const server = createServer(async (incoming, response) => {
  const text = (await incoming.toArray()).join('')
  const form = text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
  const call: IdentityCall = { path: incoming.url ?? '', headers: incoming.headers, form }
  const answer = identity.respond(call, origin) ?? { status: 404, body: {} }
  response.writeHead(answer.status).end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => { server.close(); server.closeAllConnections() })
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const impersonation = `${origin}/v1/projects/-/serviceAccounts/${serviceAccount}:generateAccessToken`
const external = {
  type: 'external_account', ...workload, token_url: `${origin}/v1/token`, credential_source: { file: '/nonexistent' }
}

function fileOf (t: Test, name: string, text: string): string {
  const path = join(t.testdir({}), name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Checks that the credentials give a new token that lasts an hour. */
async function gives (t: Test, credentials: object | string, more: object = {}): Promise<void> {
  const source = typeof credentials === 'string' ? credentials : JSON.stringify(credentials)
  const { token, expiresAt, ...rest } = await fetchGoogleToken(source)
  t.equal(token, identity.tokens.at(-1))
  t.ok(Math.abs(expiresAt - Date.now() - 3_600_000) < 60_000)
  t.same(rest, more)
}

t.test('a service account, as JSON or in a file, signs an assertion', async t => {
  const key = identity.keyFile(origin)
  await gives(t, key)
  await gives(t, fileOf(t, 'key.json', JSON.stringify(key)))
})

t.test('a user who has signed in with gcloud, with the project that pays', async t => {
  const credentials = { type: 'authorized_user', ...user, token_uri: `${origin}/token`, quota_project_id: 'acme-dev' }
  await gives(t, credentials, { headers: { 'x-goog-user-project': 'acme-dev' } })
  const home = t.testdir({})
  fileOf(t, '.config/gcloud/application_default_credentials.json', JSON.stringify(credentials))
  t.equal((await fetchGoogleToken(null, { home })).token, identity.tokens.at(-1))
})

t.test('a workload of another cloud, by a file or a URL, as itself or as a service account', async t => {
  const file = fileOf(t, 'token', `${subjectToken}\n`)
  await gives(t, { ...external, credential_source: { file } })
  const json = fileOf(t, 'token.json', JSON.stringify({ jwt: subjectToken }))
  const format = { type: 'json', subject_token_field_name: 'jwt' }
  const acting = { ...external, service_account_impersonation_url: impersonation }
  await gives(t, { ...acting, credential_source: { file: json, format } })
  const url = `${origin}/subject`
  const headers = { 'x-subject': 'yes' }
  await gives(t, {
    ...external, credential_source: { url, headers, format: { type: 'json', subject_token_field_name: 'value' } }
  })
})

t.test('a user who acts as a service account', async t => {
  const source = { type: 'authorized_user', ...user, token_uri: `${origin}/token` }
  await gives(t, {
    type: 'impersonated_service_account',
    source_credentials: source,
    service_account_impersonation_url: impersonation
  })
})

t.test('without credentials, the identity of the machine', async t => {
  const { token } = await fetchGoogleToken(null, { metadata: origin, home: '/nonexistent' })
  t.equal(token, identity.tokens.at(-1))
  const nowhere = fetchGoogleToken(null, { metadata: 'http://127.0.0.1:1', home: '/nonexistent' })
  t.match(await rejection(nowhere), { kind: 'network', sent: 'no', message: /no credentials of Google Cloud/ })
})

t.test('credentials that cannot be used are an error of the gateway without their secrets', async t => {
  const key = identity.keyFile(origin)
  const cases: [object | string, RegExp][] = [
    ['/nonexistent/key.json', /cannot be read \(ENOENT\)/],
    ['{"private_key": ', /not a JSON object/],
    [{ type: 'unknown' }, /type "unknown" are not supported/],
    [{ ...key, client_email: '' }, /no 'client_email'/],
    [{ ...key, private_key: 'Zm9v' }, /'private_key' of the service account cannot be read/],
    [{ ...key, client_email: 'other@acme' }, /refused the credentials \(invalid_grant: Invalid JWT claims\.\)/],
    [external, /file of the subject token cannot be read/],
    [{ ...external, credential_source: { environment_id: 'aws1' } }, /must come from a file or a URL/],
    [{ type: 'impersonated_service_account' }, /no 'source_credentials'/]
  ]
  for (const [credentials, message] of cases) {
    const source = typeof credentials === 'string' ? credentials : JSON.stringify(credentials)
    const error = await rejection(fetchGoogleToken(source))
    t.match(error, { kind: 'auth', sent: 'no', message })
  }
})

t.test('an identity service that repeats a secret, or fails', async t => {
  const credentials = JSON.stringify({ type: 'authorized_user', ...user, token_uri: `${origin}/token` })
  const cases: [number, object | string, object][] = [
    [400, { error: 'invalid_client', error_description: `No ${user.client_secret}` }, { kind: 'auth', message: /\(invalid_client: No \*\*\*\)/ }],
    [403, 'no JSON', { kind: 'auth', message: /\(status 403\)/ }],
    [503, '', { kind: 'overloaded' }],
    [429, '', { kind: 'overloaded' }],
    [200, '<html>', { kind: 'bad_reply' }],
    [200, { access_token: 'ya29.x' }, { kind: 'bad_reply' }],
    [200, { expires_in: 3600 }, { kind: 'bad_reply' }]
  ]
  for (const [status, body, expected] of cases) {
    identity.script.push({ status, body })
    const error = await rejection(fetchGoogleToken(credentials))
    t.ok(error instanceof UpstreamError)
    t.match(error, { sent: 'no', ...expected })
    t.notMatch(String(error), /GOCSPX|ya29/)
  }
})
