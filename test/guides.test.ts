import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { request } from 'undici'
import type { GatewayConfig } from '../services/config/catalogue/types.ts'
import { parseConfig } from '../services/config/read/parse.ts'
import { findLangChain, langChainFolder } from './contract/langchain.ts'
import { blocksOf, documents, root, runExample } from './helpers/documents.ts'
import { startGateway } from './helpers/gateway.ts'
import { addressOf, spawnGateway, temporaryFolder } from './helpers/process.ts'
import { findPython } from './helpers/python.ts'
import { startUpstream } from './servers/upstream.ts'

// Runs the examples of docs/guides against a gateway with the sandbox.

const folder = await temporaryFolder(t)
writeFileSync(join(folder, 'gateway.yaml'), 'providers: [{ id: sandbox, protocol: sandbox, video_ms: 200 }]')
const gateway = await spawnGateway(t, {}, { folder })
const { url, key } = await addressOf(gateway)
const guide = (name: string): string => `docs/guides/${name}.md`

/** Whether a block is one request to the API that a key of a user may make. */
const isRequest = (block: string): boolean => block.startsWith('curl ') && !/…|\/admin\//.test(block)

async function runScript (script: string, cwd = root): Promise<string> {
  return await runExample(key, cwd, process.execPath, '--input-type=module', '--eval', script)
}

t.test('the examples for OpenAI\'s SDK in JavaScript work unchanged', async t => {
  const [chat = '', media = ''] = blocksOf(guide('openai-sdk'), 'js', url)
  t.match(await runScript(chat), /gateway[^]*It cost 0\.0\d+ US dollars/i)
  t.match(await runScript(media), /The image: http\S+\n[^]*The video: [1-9]\d+ bytes/)
})

t.test('the example for OpenAI\'s SDK in Python works unchanged', async t => {
  const python = await findPython()
  if (python === null) return t.comment('OpenAI\'s SDK for Python is not installed')
  const [chat = ''] = blocksOf(guide('openai-sdk'), 'python', url)
  t.match(await runExample(key, root, python, '-c', chat), /gateway/i)
})

t.test('the examples for LangChain work unchanged', async t => {
  if (await findLangChain() === null) return
  const [chat = '', typed = ''] = blocksOf(guide('langchain'), 'js', url)
  t.match(await runScript(chat, langChainFolder), /gateway[^]*gateway/i)
  t.match(await runScript(typed, langChainFolder), /city: '/)
})

t.test('every command with curl works unchanged', async t => {
  let count = 0
  for (const document of documents) {
    for (const block of blocksOf(document, 'sh', url).filter(isRequest)) {
      const command = block.replace('curl ', 'curl --silent --show-error --fail-with-body ')
      const body = await runExample(key, folder, 'sh', '-c', command)
      t.notMatch(JSON.parse(body || '{}').error, { message: /./ }, block)
      count++
    }
  }
  t.ok(count >= 7)
})

t.test('the commands for a team work unchanged', async t => {
  const [commands = ''] = blocksOf(guide('team'), 'sh')
  const [shared = ''] = blocksOf(guide('open-webui'), 'sh').filter(block => block.startsWith('npx tollgate'))
  const lines = (commands + shared).replaceAll('npx tollgate', join(root, 'bin/tollgate.js'))
  const stdout = await runExample(key, folder, 'sh', '-ec', lines)
  t.equal(stdout.match(/sk-tg-/g)?.length, 2)
})

t.test('every gateway.yaml is valid', async t => {
  const names = ['azure', 'bedrock', 'local-servers', 'team', 'vertex']
  const blocks = names.flatMap(name => blocksOf(guide(name), 'yaml'))
  t.equal(blocks.length, 12)
  const env = {
    OPENAI_API_KEY: 'k',
    AZURE_OPENAI_API_KEY: 'k',
    AZURE_OPENAI_ENDPOINT: 'https://example.openai.azure.com',
    AZURE_TENANT_ID: 't',
    AZURE_CLIENT_ID: 'c',
    AZURE_CLIENT_SECRET: 's',
    AWS_BEARER_TOKEN_BEDROCK: 'k',
    AWS_REGION: 'us-west-2',
    ANTHROPIC_API_KEY: 'k',
    GOOGLE_CLOUD_PROJECT: 'acme'
  }
  for (const text of blocks) t.ok(parseConfig(text, env), text)
})

/** Starts a gateway; the function returns the status of a chat request to a model. */
async function statuses (t: Test, config: GatewayConfig): Promise<(model: string) => Promise<number>> {
  const { url, headers } = await startGateway(t, { config })
  return async model => {
    const { statusCode, body } = await request(`${url}/chat/completions`, {
      method: 'POST', headers, body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] })
    })
    await body.dump()
    return statusCode
  }
}

t.test('a deployment of Azure without a price is refused, and served under a name that has one', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const env = { AZURE_OPENAI_API_KEY: 'k', AZURE_OPENAI_ENDPOINT: upstream.url, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: upstream.url }
  const [text = ''] = blocksOf(guide('azure'), 'yaml')
  const statusOf = await statuses(t, parseConfig(text, env))
  t.equal(await statusOf('gpt-4o-mini'), 200)
  t.equal(await statusOf('azure/team-mini'), 400)
  t.equal(upstream.requests.find(({ method }) => method === 'POST')?.body?.model, 'team-mini')
})

t.test('a model of a local server is served once it has a price', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const [text = ''] = blocksOf(guide('local-servers'), 'yaml')
  const config = parseConfig(text.replace('http://127.0.0.1:11434/v1', upstream.url), {})
  const statusOf = await statuses(t, config)
  t.equal(await statusOf('llama3.2'), 200)
  t.equal(await statusOf('ollama/another'), 400)
})
