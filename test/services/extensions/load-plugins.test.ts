import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkProtocols, loadPlugins } from '../../../services/extensions/load-plugins.ts'
import { loadConfig } from '../../../services/config/load.ts'
import { parseConfig } from '../../../services/config/read/parse.ts'

/** A folder with files, and `gateway.yaml` in it. */
function folderOf (t: Test, yaml: string, files: Record<string, string> = {}): string {
  const folder = t.testdir({ ...files, 'gateway.yaml': yaml })
  mkdirSync(join(folder, 'node_modules', '@acme', 'pii'), { recursive: true })
  const manifest = JSON.stringify({ name: '@acme/pii', type: 'module', exports: './index.js' })
  writeFileSync(join(folder, 'node_modules', '@acme', 'pii', 'package.json'), manifest)
  writeFileSync(join(folder, 'node_modules', '@acme', 'pii', 'index.js'), 'export default { name: "pii" }')
  return join(folder, 'gateway.yaml')
}

async function load (path: string) {
  const config = await loadConfig({ path, env: {} })
  return { config, plugins: await loadPlugins(config.plugins ?? [], path) }
}

t.test('plugins are files beside gateway.yaml, packages and shipped ones, with their options', async t => {
  const path = folderOf(t, `plugins:
  - ./guard.ts
  - "@acme/pii"
  - { use: ./made.js, on_error: skip, timeout_ms: 500, options: { word: tea, token: "\${TOKEN:-none}" } }
  - { use: tollgate/redact, options: { detect: [email] } }
`, {
    'guard.ts': 'const name: string = "guard"\nexport default { name, request: () => {} }',
    'made.js': 'export default async options => ({ name: ["made", options.word, options.token].join("-"), onError: "fail" })'
  })
  const { plugins } = await load(path)
  t.match(plugins, [
    { name: 'guard' }, { name: 'pii' }, { name: 'made-tea-none', onError: 'skip', timeoutMs: 500 }, { name: 'tollgate/redact' }
  ])
})

t.test('a plugin may be an instance of a class', async t => {
  const path = folderOf(t, 'plugins: [{ use: ./guard.js, timeout_ms: 500 }]\n', {
    'guard.js': 'class Guard { #calls = 0; get name () { return "guard" } request () { this.#calls++ } settled () { return this.#calls } }\nexport default new Guard()'
  })
  const { plugins: [guard] } = await load(path)
  t.match(guard, { name: 'guard', timeoutMs: 500 })
  const context = {} as never
  await guard?.request?.({} as never, context)
  t.equal(await guard?.settled?.({} as never, context), 1)
})

t.test('each plugin that cannot be loaded is named with its line', async t => {
  const path = folderOf(t, `plugins:
  - ./missing.ts
  - ./empty.js
  - { use: ./named.js, options: { a: 1 } }
  - ./named.js
  - ./named.js
  - ./throws.js
  - ./hook.js
  - no-such-package
  - { use: tollgate/jwt }
`, {
    'empty.js': 'export const a = 1',
    'named.js': 'export default { name: "named" }',
    'throws.js': 'export default () => { throw new Error("not today") }',
    'hook.js': 'export default { name: "hook", onRequest () {} }'
  })
  const error = await load(path).then(() => null, (error: Error) => error)
  for (const line of [
    `${path}:2:5 plugins[0]: ./missing.ts cannot be loaded:`,
    `${path}:3:5 plugins[1]: ./empty.js is not a plugin`,
    `${path}:4:5 plugins[2]: ./named.js takes no options`,
    `${path}:6:5 plugins[4]: ./named.js has the name named, as an earlier plugin`,
    `${path}:7:5 plugins[5]: ./throws.js not today`,
    `${path}:8:5 plugins[6]: ./hook.js has an unknown hook \`onRequest\``,
    `${path}:9:5 plugins[7]: no-such-package cannot be loaded:`,
    `${path}:10:5 plugins[8]: tollgate/jwt needs the options jwks, issuer and audience`
  ]) t.match(error?.message ?? '', line)
})

t.test('mistakes in the list are reported with their lines', async t => {
  for (const [yaml, problem] of [
    ['plugins: [5]', '1:11 plugins[0]: must be a string or a map'],
    ['plugins: [{ use: ./a.ts, on_eror: skip }]', '1:26 plugins[0].on_eror: is not a known key (did you mean "on_error"?)'],
    ['plugins: [{ use: ./a.ts, on_error: ignore }]', '1:36 plugins[0].on_error: must be one of fail, skip'],
    ['plugins: [{ use: ./a.ts, timeout_ms: 0 }]', '1:38 plugins[0].timeout_ms: must be at least 1'],
    ['plugins: [{ options: {} }]', 'plugins[0].use: is missing'],
    ['plugins: x', '1:10 plugins: must be a list'],
    ['providers: [{ id: a, protocol: opnai, base_url: "http://a.example" }]', '1:32 providers[0].protocol: must be one of openai, '],
    ['plugins: [./a.ts]\nproviders: [{ id: a, protocol: echo, api_key: x }]', '2:38 providers[0].api_key: is not given to plugins; use the options of the plugin']
  ] as const) {
    t.throws(() => parseConfig(yaml, {}), new RegExp(problem.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')), yaml)
  }
})

t.test('a provider may have the protocol of a plugin, and no other', async t => {
  const { providers } = parseConfig('plugins: [./a.ts]\nproviders: [{ id: mine, protocol: echo, base_url: "http://a.example/" }]', {})
  const mine = providers.filter(({ id }) => id === 'mine')
  t.match(mine, [{ protocol: 'echo', baseUrl: 'http://a.example', apiKey: null }])
  const chat = async function * () {}
  t.ok(checkProtocols({ providers: mine }, [{ name: 'a', providers: { echo: { chat } } }], 'gateway.yaml'))
  t.throws(() => checkProtocols({ providers: mine }, [{ name: 'a' }], 'gateway.yaml'), /the provider mine has the protocol echo, which no plugin brings/)
})
