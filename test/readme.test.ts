import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { request } from 'undici'
import { configFromEnvironment } from '../services/config/environment/environment.ts'
import { variables } from '../services/config/settings/settings.ts'
import { knownProviders } from '../services/config/catalogue/known-providers.ts'
import { runAt } from './cli/helper.ts'
import { startGateway } from './helpers/gateway.ts'
import { addressOf, spawnGateway, withoutHooks } from './helpers/process.ts'
import { startUpstream } from './servers/upstream.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The code blocks of a language, with the address of a running gateway instead of the default one. */
function blocks (language: string, url = ''): string[] {
  const found = [...readme.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(match => match[1] ?? '')
  return found.map(block => block.replaceAll('http://127.0.0.1:8080/v1', url))
}

/** The names in backticks in the first column of a table. */
function firstColumn (heading: string): string[] {
  const [section = ''] = readme.split(`## ${heading}\n`)[1]?.split('\n## ') ?? []
  return [...section.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(match => (match[1] ?? '').match(/[^`]+(?=`)/g) ?? [])
    .filter(name => !/^[\s,]*$/.test(name))
}

const gateway = await spawnGateway(t)

t.test('the curl command and the SDK example work unchanged', async t => {
  const { url, key } = await addressOf(gateway)
  const env = { ...process.env, TOLLGATE_KEY: key }
  const [curl = ''] = blocks('sh', url).filter(block => block.startsWith('curl'))
  const { stdout } = await run(...withoutHooks('sh', '-c', curl), { env })
  t.match(JSON.parse(stdout).choices[0].message.content, /gateway/)
  const [script = ''] = blocks('js', url)
  const sdk = await run(...withoutHooks(process.execPath, '--input-type=module', '--eval', script), { env, cwd: root })
  t.match(sdk.stdout, /gateway/)
})

t.test('the commands for keys and money work unchanged', async t => {
  const { folder } = gateway
  const [block = ''] = blocks('sh').filter(block => block.includes('npx tollgate'))
  const lines = block.trim().replaceAll('npx tollgate', join(root, 'bin/tollgate.js'))
  const { stdout } = await run(...withoutHooks('sh', '-ec', lines), { cwd: folder })
  t.match(stdout, /The balance of team-a is 25\.00/)
  t.match(stdout, /sk-tg-/)
  t.match(stdout, /The books add up/)
  const { url, key } = await addressOf(gateway)
  const env = { PORT: new URL(url).port, TOLLGATE_KEY: key }
  for (const [, command = ''] of readme.matchAll(/`npx tollgate ([^`]+)`/g)) {
    const args = command.match(/"[^"]*"|\S+/g)?.map(arg => arg.replaceAll('"', '')) ?? []
    const { code, out, err } = await runAt(`sqlite:${join(folder, 'data', 'tollgate.db')}`, args, { env })
    t.equal(code, 0, err)
    t.match(out, command.startsWith('keys') ? /sk-tg-/ : /\S/, command)
  }
})

t.test('every npm command is a script of the project', async t => {
  const commands = blocks('sh').flatMap(block => block.match(/npm (?:run )?[a-z:]+/g) ?? [])
  t.ok(commands.includes('npm ci') && commands.includes('npm start') && commands.includes('npm test'))
  const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  for (const command of [...commands, ...contributing.match(/npm (?:run )?[a-z:]+/g) ?? []]) {
    const name = command.split(' ').at(-1) ?? ''
    t.ok(name === 'ci' || name in packageJson.scripts, command)
  }
  t.match(readFileSync(join(root, '.ci/run'), 'utf8'), /npm ci[^]*npm run check[^]*npm run lint[^]*npm test/)
})

t.test('a key in the environment adds its provider', async t => {
  const upstream = await startUpstream({ apiKey: 'sk-own' })
  t.teardown(() => upstream.close())
  const { url, key } = await startGateway(t, { env: { OPENAI_API_KEY: 'sk-own', OPENAI_BASE_URL: upstream.url } })
  for (const model of ['gpt-5-nano', 'openai/gpt-5-nano']) {
    const { statusCode, body } = await request(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] })
    })
    await body.dump()
    t.equal(statusCode, 200)
  }
  const asked = upstream.requests.filter(({ method }) => method === 'POST')
  t.same(asked.map(({ body }) => body?.model), ['gpt-5-nano', 'gpt-5-nano'])
})

t.test('every provider it names is known, and every known one is named', async t => {
  for (const { keys } of knownProviders) t.ok(keys.some(key => readme.includes(`\`${key}\``)), keys.join())
  const named = readme.match(/\b[A-Z_]+_API_KEY\b|\bHF_TOKEN\b/g) ?? []
  for (const name of new Set(named)) {
    const env = { [name]: 'sk-x', AZURE_OPENAI_ENDPOINT: 'https://example.openai.azure.com' }
    t.equal(configFromEnvironment(env).providers.filter(({ id }) => id !== 'sandbox').length, 1, name)
  }
})

t.test('every endpoint of the table is served', async t => {
  const { url, key } = await addressOf(gateway)
  const endpoints = firstColumn('Endpoints')
  t.ok(endpoints.length >= 5)
  for (const endpoint of endpoints) {
    const [method = '', path = ''] = endpoint.split(' ')
    const answer = await request(url.replace(/\/v1$/, path.replace(':id', 'sandbox-chat')), {
      method: method === 'POST' ? 'POST' : 'GET', headers: { authorization: `Bearer ${key}` }
    })
    const text = await answer.body.text()
    t.ok([200, 400, 404].includes(answer.statusCode), `${endpoint}: ${answer.statusCode}`)
    t.notMatch(text, 'unknown_url', endpoint)
  }
})

t.test('the table of settings shows every variable with its default and description', async t => {
  const [section = ''] = readme.split('## Settings\n')[1]?.split('\n## ') ?? []
  const rows = section.match(/^\| `[A-Z_]+`.*$/gm) ?? []
  t.same(rows, Object.entries(variables).map(([name, { shownDefault, description }]) => {
    return `| \`${name}\` | ${shownDefault} | ${description} |`
  }))
})

t.test('every file that the documents link to or name exists', async t => {
  for (const document of ['README.md', 'CONTRIBUTING.md', 'services/README.md', ...globSync('docs/*.md', { cwd: root })]) {
    const text = readFileSync(join(root, document), 'utf8')
    for (const [, file = ''] of text.matchAll(/\]\((?!http)([^)#]+)\)/g)) {
      t.ok(existsSync(join(root, dirname(document), file)), `${document}: ${file}`)
    }
    // Paths of modules are relative to the root or to services/.
    for (const [, file = ''] of text.matchAll(/`([\w/-]+\/[\w-]+\.ts)`/g)) {
      t.ok(existsSync(join(root, file)) || existsSync(join(root, 'services', file)), `${document}: ${file}`)
    }
  }
})
