import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { request } from 'undici'
import { configFromEnvironment } from '../services/config/environment/environment.ts'
import { variables } from '../services/config/settings/settings.ts'
import { knownProviders } from '../schemas/config/known-providers.ts'
import { runAt } from './cli/helper.ts'
import { blocksOf, documents, root, runExample, sectionOf, textOf } from './helpers/documents.ts'
import { startGateway } from './helpers/gateway.ts'
import { addressOf, spawnGateway } from './helpers/process.ts'
import { startUpstream } from './servers/upstream.ts'

const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The names in backticks in the first column of the table below a heading. */
function firstColumn (document: string, heading: string): string[] {
  return [...sectionOf(document, heading).matchAll(/^\| (`[^|]*) \|/gm)]
    .flatMap(([, cell = '']) => cell.match(/[^`]+(?=`)/g) ?? [])
    .filter(name => !/^[\s,]*$/.test(name))
}

const gateway = await spawnGateway(t)

t.test('the README fits on one screen', async t => {
  t.ok(textOf('README.md').split('\n').length <= 121)
})

t.test('the examples of the README and of the first steps work unchanged', async t => {
  const { url, key } = await addressOf(gateway)
  const curl = (document: string) => blocksOf(document, 'sh', url).filter(block => block.startsWith('curl'))
  for (const command of [...curl('README.md'), ...curl('docs/start.md')]) {
    t.match(JSON.parse(await runExample(key, gateway.folder, 'sh', '-c', command)).choices[0].message.content, /gateway/)
  }
  const [image = '', video = ''] = blocksOf('README.md', 'js', url)
  const [stream = ''] = blocksOf('docs/start.md', 'js', url)
  const run = async (script: string) => await runExample(key, root, process.execPath, '--input-type=module', '--eval', script)
  const file = join(gateway.folder, 'lighthouse.png')
  const printed = await Promise.all([image.replace('lighthouse.png', file), video, stream].map(run))
  t.match(printed[1], /The video: http\S+\.mp4/)
  t.match(printed[2], /gateway/)
  t.match(readFileSync(file).subarray(1, 4).toString(), 'PNG')
})

t.test('the commands for keys and money work unchanged', async t => {
  const { folder } = gateway
  const [block = ''] = blocksOf('docs/keys.md', 'sh').filter(block => block.includes('npx tollgate'))
  const lines = block.trim().replaceAll('npx tollgate', join(root, 'bin/tollgate.js'))
  const { url, key } = await addressOf(gateway)
  const stdout = await runExample(key, folder, 'sh', '-ec', lines)
  t.match(stdout, /The balance of team-a is 25\.00/)
  t.match(stdout, /sk-tg-/)
  t.match(stdout, /The books add up/)
  const env = { PORT: new URL(url).port, TOLLGATE_KEY: key }
  const texts = ['README.md', 'docs/auto.md', 'docs/keys.md', 'docs/settings.md', 'docs/guides/team.md', 'docs/guides/production.md']
  const commands = texts.map(textOf).flatMap(text => [...text.matchAll(/`npx tollgate ([^`]+)`/g)])
  t.ok(commands.length >= 7)
  for (const [, command = ''] of commands) {
    const args = command.match(/"[^"]*"|\S+/g)?.map(arg => arg.replaceAll('"', '')) ?? []
    const { code, out, err } = await runAt(`sqlite:${join(folder, 'data', 'tollgate.db')}`, args, { env })
    t.equal(code, 0, err)
    t.match(out, command.startsWith('keys') ? /sk-tg-/ : /\S/, command)
  }
})

t.test('every npm command is a script of the project', async t => {
  const commands = blocksOf('README.md', 'sh').flatMap(block => block.match(/npm (?:run )?[a-z:]+/g) ?? [])
  t.ok(commands.includes('npm ci') && commands.includes('npm start') && commands.includes('npm test'))
  const others = ['CONTRIBUTING.md', ...documents].map(textOf).join('\n')
  for (const command of [...commands, ...others.match(/\bnpm (?:run [a-z:]+|start|test)\b/g) ?? []]) {
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

t.test('every provider that the documents name is known, and every known one is named', async t => {
  const text = textOf('docs/providers.md')
  for (const { keys } of knownProviders.filter(({ keys }) => keys.length > 0)) t.ok(keys.some(key => text.includes(`\`${key}\``)), keys.join())
  const named = [textOf('README.md'), text].join().match(/\b[A-Z_]+_API_KEY\b|\bHF_TOKEN\b/g) ?? []
  for (const name of new Set(named)) {
    const isAzure = name.startsWith('AZURE')
    const env = { [name]: 'sk-x', ...(isAzure && { AZURE_OPENAI_ENDPOINT: 'https://example.openai.azure.com' }) }
    t.equal(configFromEnvironment(env).providers.filter(({ id }) => id !== 'sandbox').length, 1, name)
  }
})

t.test('every endpoint of the table is served', async t => {
  const { url, key } = await addressOf(gateway)
  const endpoints = firstColumn('docs/api.md', 'Endpoints')
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
  const rows = textOf('docs/settings.md').match(/^\| `[A-Z_]+`.*$/gm) ?? []
  t.same(rows, Object.entries(variables).map(([name, { shownDefault, description }]) => {
    return `| \`${name}\` | ${shownDefault} | ${description} |`
  }))
})

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf (document: string): string[] {
  return [...textOf(document).matchAll(/^#+ (.*)$/gm)]
    .map(([, heading = '']) => heading.toLowerCase().replace(/[^\p{L}\d\s_-]/gu, '').replaceAll(' ', '-'))
}

t.test('every variable that the documents name is a setting', async t => {
  // The key of a client, and names that examples choose for secrets in gateway.yaml.
  const others = ['TOLLGATE_KEY', 'TOLLGATE_OIDC_SECRET', 'TOLLGATE_WEBHOOK_SECRET']
  const names = documents.flatMap(document => textOf(document).match(/\bTOLLGATE_[A-Z_]+\b/g) ?? [])
  t.same([...new Set(names)].filter(name => !(name in variables) && !others.includes(name)), [])
})

t.test('the index names every document', async t => {
  const index = textOf('docs/README.md')
  for (const document of documents.filter(name => !name.endsWith('README.md'))) {
    t.ok(index.includes(`](${document.replace('docs/', '')})`), document)
  }
})

t.test('every file and heading that the documents link to or name exists', async t => {
  for (const document of ['CONTRIBUTING.md', 'services/README.md', ...documents]) {
    const text = textOf(document)
    for (const [, file = '', anchor] of text.matchAll(/(?:\]\(|src(?:set)?=")(?!http)([^)#"]*)(?:#([^)]+))?[)"]/g)) {
      const target = file === '' ? document : join(dirname(document), file)
      t.ok(existsSync(join(root, target)), `${document}: ${file}`)
      if (anchor !== undefined) t.ok(anchorsOf(target).includes(anchor), `${document}: ${file}#${anchor}`)
    }
    for (const [file] of text.matchAll(/(?<=[ `])(?:bench|bin|test|tools)\/[\w./-]+\.[jt]s\b/g)) {
      t.ok(existsSync(join(root, file)), `${document}: ${file}`)
    }
    // Paths of modules are relative to the root or to services/.
    for (const [, file = ''] of text.matchAll(/`([\w/-]+\/[\w-]+\.ts)`/g)) {
      t.ok(existsSync(join(root, file)) || existsSync(join(root, 'services', file)), `${document}: ${file}`)
    }
  }
})
