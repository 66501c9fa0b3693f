import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { configFromEnvironment } from '../../services/config/environment/environment.ts'
import { entraFromEnvironment } from '../../services/config/read/azure.ts'
import { parseConfig } from '../../services/config/read/parse.ts'
import { fetchEntraToken } from '../../services/providers/identity/entra-tokens.ts'
import { startGateway } from '../helpers/gateway.ts'
import { apiKey, application, filtered, pemFile, startAzure } from '../servers/azure.ts'

const { tenantId, clientId, clientSecret, federatedToken } = application
const identity = { AZURE_TENANT_ID: tenantId, AZURE_CLIENT_ID: clientId }

type Environment = (origin: string) => Record<string, string>

/** A gateway in front of Azure, and a function that sends a chat request to it. */
async function start (t: Test, options: string[], envOf: Environment = () => ({})) {
  const azure = await startAzure(t)
  const text = `
environment_providers: false
providers:
  - { id: azure, base_url: "${azure.origin}/openai/v1", ${options.join(', ')} }
models:
  - id: gpt-4o-mini
    deployments: [{ provider: azure, model: team-mini }]
    price: { input: 0.15, output: 0.60 }
`
  const config = parseConfig(text, { AZURE_AUTHORITY_HOST: azure.origin, ...envOf(azure.origin) })
  const { url, headers } = await startGateway(t, { config })
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Where is the fox?' }] })
  const chat = async () => {
    const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body })
    return { status: response.status, body: await response.json() as Record<string, object> }
  }
  return { azure, chat }
}

function fileOf (t: Test, text: string): string {
  const path = join(t.testdir({}), 'secret')
  writeFileSync(path, text)
  return path
}

const withPassword = () => {
  const key = createPrivateKey(readFileSync(pemFile)).export({
    type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame'
  })
  return `${readFileSync(pemFile, 'utf8').split('-----BEGIN PRIVATE')[0]}${key}`
}

const byId = `tenant_id: ${tenantId}, client_id: ${clientId}`
interface Case { options?: string[], env?: Environment }

const cases: Record<string, (t: Test) => Case> = {
  'a key': () => ({ options: [`api_key: ${apiKey}`] }),
  'a secret': () => ({ options: [`entra: { ${byId}, client_secret: "${clientSecret}" }`] }),
  'a secret of the environment': () => ({ env: () => ({ ...identity, AZURE_CLIENT_SECRET: clientSecret }) }),
  'a certificate': () => ({ options: [`entra: { ${byId}, certificate: "${pemFile}" }`] }),
  'a certificate with a password': t => {
    const path = fileOf(t, withPassword())
    const env = { AZURE_CLIENT_CERTIFICATE_PATH: path, AZURE_CLIENT_CERTIFICATE_PASSWORD: 'open sesame' }
    return { env: () => ({ ...identity, ...env }) }
  },
  'a workload identity': t => {
    const path = fileOf(t, `${federatedToken}\n`)
    return { env: () => ({ ...identity, AZURE_FEDERATED_TOKEN_FILE: path }) }
  },
  'the managed identity of App Service': () => ({
    env: origin => ({ IDENTITY_ENDPOINT: `${origin}/msi/token`, IDENTITY_HEADER: 'id-header' })
  })
}

for (const [name, make] of Object.entries(cases)) {
  t.test(`chat at Azure with ${name}`, async t => {
    const { options = [], env } = make(t)
    const { azure, chat } = await start(t, options, env)
    const { status, body } = await chat()
    t.equal(status, 200, JSON.stringify(body))
    t.match(body, {
      model: 'gpt-4o-mini', prompt_filter_results: [{ prompt_index: 0 }], choices: [{ content_filter_results: { hate: Object } }]
    })
    await chat()
    t.ok(azure.tokenCalls.length <= 1, 'the token is fetched once')
    t.match(azure.calls[0]?.url.href, '/openai/v1/chat/completions?api-version=v1')
  })
}

t.test('a machine of Azure has an identity of its own', async t => {
  const azure = await startAzure(t)
  const { token, expiresAt } = await fetchEntraToken(
    entraFromEnvironment({}), `${azure.origin}/metadata/identity/oauth2/token`)
  t.match(token, /^eyJ/)
  t.ok(Math.abs(expiresAt - Date.now() - 3_600_000) < 60_000)
})

t.test('Azure without a key in the environment is called with the identity there', async t => {
  const env = { AZURE_OPENAI_ENDPOINT: 'https://team.openai.azure.com' }
  const [provider] = configFromEnvironment(env).providers
  t.match(provider, { id: 'azure', apiKey: null, baseUrl: 'https://team.openai.azure.com/openai/v1', entra: { clientId: null } })
  t.throws(() => configFromEnvironment({ ...env, AZURE_CLIENT_SECRET: 's' }), /AZURE_TENANT_ID/)
})

t.test('a version with a date names the deployment in the path', async t => {
  const { azure, chat } = await start(t, [`api_key: ${apiKey}`, 'api_version: "2024-10-21"'])
  t.equal((await chat()).status, 200)
  t.match(azure.calls[0]?.url.href, '/openai/deployments/team-mini/chat/completions?api-version=2024-10-21')
})

t.test('a token that ends early is replaced within the request', async t => {
  const { azure, chat } = await start(t, [], () => ({ ...identity, AZURE_CLIENT_SECRET: clientSecret }))
  t.equal((await chat()).status, 200)
  azure.revoke()
  t.equal((await chat()).status, 200)
  t.equal(azure.tokenCalls.length, 2)
})

t.test('an identity that is refused is the operator\'s problem, and its secret is in no message', async t => {
  const { azure, chat } = await start(t, [], () => ({ ...identity, AZURE_CLIENT_SECRET: 'wrong-secret-value' }))
  const { status, body } = await chat()
  t.equal(status, 502)
  t.notMatch(JSON.stringify(body), /wrong-secret-value|AADSTS/)
  t.equal(azure.calls.length, 0)
})

t.test('what Azure\'s filter says of a prompt reaches the client', async t => {
  const { azure, chat } = await start(t, [`api_key: ${apiKey}`])
  azure.script.push({ status: 400, body: filtered })
  const { status, body } = await chat()
  t.equal(status, 400)
  t.match(body, { error: { code: 'content_filter', message: /content management policy/ } })
})

t.test('options without a meaning are refused with their line', async t => {
  const parse = (lines: string) => parseConfig(`environment_providers: false\nproviders:\n${lines}`, {})
  t.throws(() => parse('  - { id: openai, api_key: k, entra: {} }'), /entra.*only has a meaning for Azure/s)
  t.throws(() => parse('  - { id: azure, base_url: "https://a.example", api_key: k, entra: {} }'), /no meaning beside/)
  t.throws(() => parse('  - { id: azure, base_url: "https://a.example", entra: { client_secret: s } }'), /tenant_id/)
  t.throws(() => parse('  - { id: azure, base_url: "https://a.example", api_key: k, api_version: v1 }'), /api_version/)
})
