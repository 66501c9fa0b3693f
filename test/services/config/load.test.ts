/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { ConfigError } from '../../../services/config/config-error.ts'
import { loadConfig, maxFileBytes } from '../../../services/config/load.ts'
import { parseConfig } from '../../../services/config/read/parse.ts'
import { processorMs } from '../../helpers/processor-time.ts'
import { runningMs } from '../../helpers/running-time.ts'

const alone = 'environment_providers: false\n'

/** What is wrong with a text, one `line:column path: message` each. */
function problemsOf (text: string, env: NodeJS.ProcessEnv = {}): string[] {
  try {
    parseConfig(text, env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ path, line, column, message }) => `${line}:${column} ${path}: ${message}`)
  }
}

function hasProblem (t: Test, text: string, expected: string, env: NodeJS.ProcessEnv = {}) {
  const problems = problemsOf(text, env)
  t.ok(problems.some((problem) => problem.startsWith(expected)), `${expected}\n${problems.join('\n')}`)
  t.equal(problems.length, 1, problems.join('\n'))
}

t.test('a provider known by its id needs a key only', async (t) => {
  const { providers } = parseConfig('providers: [{ id: groq, api_key: "${KEY}" }]', { KEY: 'gsk-1' })
  t.match(providers, [{
    id: 'groq',
    protocol: 'openai',
    dialect: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    apiKey: 'gsk-1',
    timeouts: { connectMs: 5000, firstByteMs: 120_000, idleMs: 60_000, totalMs: 660_000 },
    maxConnections: 1024,
    discover: false
  }])
})

t.test('fields that change the price can be allowed, those that run other models cannot', async (t) => {
  const provider = (fields: string) => `${alone}providers: [{ id: openrouter, api_key: x, allow_fields: [${fields}] }]`
  t.same(parseConfig(provider('provider, cache_control'), {}).providers[0]?.allowFields, ['provider', 'cache_control'])
  hasProblem(t, provider('models'), '2:58 providers[0].allow_fields[0]: cannot be allowed: it runs unchecked models')
  hasProblem(t, provider('transform'), '2:58 providers[0].allow_fields[0]: is not rejected (did you mean "transforms"?)')
})

t.test('a dialect sets the base URL of a provider with another id, but not its claims', async (t) => {
  const { providers } = parseConfig('providers: [{ id: mine, dialect: openai, api_key: x }]', {})
  t.match(providers, [{ id: 'mine', baseUrl: 'https://api.openai.com/v1', claims: [] }])
})

t.test('a dialect implies the protocol openai', async (t) => {
  const { providers } = parseConfig(`
providers:
  - { id: gemini, api_key: x }
  - { id: second, protocol: gemini, api_key: x }
  - { id: compatible, dialect: gemini, base_url: https://generativelanguage.googleapis.com/v1beta/openai, api_key: x }`, {})
  const baseUrl = 'https://generativelanguage.googleapis.com/v1beta'
  t.match(providers, [
    { id: 'gemini', protocol: 'gemini', baseUrl },
    { id: 'second', protocol: 'gemini', baseUrl },
    { id: 'compatible', protocol: 'openai', dialect: 'gemini', baseUrl: `${baseUrl}/openai` }
  ])
  hasProblem(t, 'providers: [{ id: gemini, dialect: gemini, api_key: x }]', '1:13 providers[0].base_url: is missing')
  hasProblem(t, 'providers: [{ id: a, protocol: gemini, dialect: groq, api_key: x }]',
    '1:40 providers[0].dialect: has no meaning for the protocol gemini')
  hasProblem(t, 'providers: [{ id: a, protocol: gemini, responses: off, api_key: x }]',
    '1:40 providers[0].responses: has no meaning for the protocol gemini')
  const file = 'providers: [{ id: a, base_url: http://a.example/v1, responses: off }]\nconsole: { enabled: false }'
  t.match(parseConfig(file, {}), { providers: [{ responses: 'off' }], console: { enabled: false, oidc: null } })
})

t.test('prices are read to the last digit', async (t) => {
  const prices = [
    ['input: 0.15', { inputPico: 150_000 }],
    ['input: 0.0028', { inputPico: 2800 }],
    ['output: 0.000001', { outputPico: 1 }],
    ['output: "1234.567891"', { outputPico: 1_234_567_891 }],
    ['output: 4503599.627371', { outputPico: 4_503_599_627_371 }],
    ['cache_read: 0.1000000000', { cacheReadPico: 100_000 }],
    ['cache_write: 0', { cacheWritePico: 0, inputPico: null }],
    ['image: 0.000000001', { imageNano: 1 }],
    ['second: ${SECOND}', { secondNano: 50_000_000 }]
  ] as const
  for (const [price, expected] of prices) {
    const text = `providers: [{ id: groq, api_key: x }]\nmodels: [{ id: m, provider: groq, price: { ${price} } }]`
    t.match(parseConfig(text.replace('${SECOND}', '"${SECOND}"'), { SECOND: '0.05' }).models[0]?.price, expected, price)
  }
})

t.test('a price that is no exact integer in code is a problem', async (t) => {
  const prices = ['0.0000001', '9007199.254741', '10000000', '-1', 'free', '.inf', '"0.1 USD"', '1_000', 'true']
  for (const price of prices) {
    const text = `providers: [{ id: groq, api_key: x }]\nmodels:\n- id: m\n  provider: groq\n  price:\n    input: ${price}`
    hasProblem(t, text, '6:12 models[0].price.input: must be a')
  }
  hasProblem(t, 'alerts: { low_balance: 0.0000000001 }', '1:24 alerts.low_balance: must be a')
})

t.test('an absent price is null, and an empty key counts as absent', async (t) => {
  const text = `providers: [{ id: groq, api_key: x }]\nmodels:
  - { id: a, provider: groq }
  - { id: b, provider: groq, price: }
  - { id: c, provider: groq, price: { input: 1, output: } }`
  const [a, b, c] = parseConfig(text, {}).models
  t.equal(a?.price, null)
  t.equal(b?.price, null)
  t.match(c?.price, { inputPico: 1_000_000, outputPico: null })
})

t.test('a model has one provider or several deployments', async (t) => {
  const text = `${alone}
providers: [{ id: groq, api_key: x }, { id: xai, api_key: y }]
models:
  - { id: one, provider: groq }
  - { id: named, provider: groq, model: up/stream }
  - id: several
    deployments: [{ provider: groq, priority: 2 }, { provider: xai, model: grok, weight: 3 }]`
  t.same(parseConfig(text, {}).models.map(({ deployments }) => deployments), [
    [{ provider: 'groq', model: 'one', weight: 1, priority: 0 }],
    [{ provider: 'groq', model: 'up/stream', weight: 1, priority: 0 }],
    [
      { provider: 'groq', model: 'several', weight: 1, priority: 2 },
      { provider: 'xai', model: 'grok', weight: 3, priority: 0 }
    ]
  ])
})

t.test('every problem is listed at once, by line and column', async (t) => {
  const text = `environment_provider: false
providers:
  - id: openai
    api_key: \${MISSING}
    timeouts: { connect_ms: soon }
models:
  - id: gpt
    provider: opnai
    contxt_window: 5
    kind: vidoe
    capabilities: { tools: 1 }
  - provider: openai
  - id: gpt
    provider: openai
    price: { input: 0.12345678 }
policies:
  - id: auto:mine
    models: [gpt, claude-*]
    ceiling: -1
  - id: cheap`
  t.same(problemsOf(text).map((problem) => problem.replace(/(?<=: [^:]{12}).*/, '')), [
    '1:1 environment_provider: is not a kno',
    '4:14 providers[0].api_key: the environm',
    '5:29 providers[0].timeouts.connect_ms: must be a wh',
    '8:15 models[0].provider: is not a kno',
    '9:5 models[0].contxt_window: is not a kno',
    '10:11 models[0].kind: must be one ',
    '11:28 models[0].capabilities.tools: must be true',
    '12:5 models[1].id: is missing',
    '13:9 models[2].id: is the id of',
    '15:21 models[2].price.input: must be a de',
    '19:14 policies[0].ceiling: must be a pl',
    '20:9 policies[1].id: has the wron'
  ])
})

t.test('a misspelt word gets a suggestion', async (t) => {
  hasProblem(t, 'modles: []', '1:1 modles: is not a known key (did you mean "models"?)')
  hasProblem(t, 'providers: [{ id: a, base_url: "http://a", dialect: olama }]',
    '1:53 providers[0].dialect: must be one of openai, azure, openrouter, groq, together, mistral, deepseek, xai, ' +
    'fireworks, cerebras, perplexity, nvidia, deepinfra, moonshot, huggingface, bedrock, gemini, vertex, litellm, ' +
    'vllm, sglang, llamacpp, ' +
    'ollama, lmstudio, compatible (did you mean "ollama"?)')
  hasProblem(t, 'providers: [{ id: groq, api_key: x }]\nmodels: [{ id: m, provider: grok }]',
    '2:29 models[0].provider: is not a known provider (did you mean "groq"?)')
  hasProblem(t, 'zzzzzzzz: 1', '1:1 zzzzzzzz: is not a known key')
  t.notMatch(problemsOf('zzzzzzzz: 1')[0], 'did you mean')
})

t.test('a reference to nothing is a problem', async (t) => {
  const provider = 'providers: [{ id: groq, api_key: x }]\n'
  hasProblem(t, `${provider}models: [{ id: m }]`, '2:10 models[0].provider: is missing')
  hasProblem(t, `${provider}models: [{ id: auto:best, provider: groq }]`, '2:16 models[0].id: is reserved')
  hasProblem(t, `${provider}models: [{ id: m, model: x, deployments: [{ provider: groq }] }]`,
    '2:19 models[0].model: cannot be combined with')
  hasProblem(t, `${provider}policies: [{ id: auto, models: [m] }]`, '2:33 policies[0].models[0]: matches no chat model')
  hasProblem(t, `${provider}policies: [{ id: auto }, { id: auto }]`, '2:32 policies[1].id: is the id of an earlier')
  hasProblem(t, 'providers: [{ id: a, base_url: http://a }, { id: a, base_url: http://b }]', '1:50 providers[1].id: is the')
})

t.test('one cause is one problem', async (t) => {
  const provider = 'providers: [{ id: groq, api_key: x }]\n'
  hasProblem(t, `${provider}models: [{ id: m, deployments: [{ model: x }] }]`,
    '2:33 models[0].deployments[0].provider: is missing')
  t.same(problemsOf(`${provider}models: [{ id: auto, deployments: [{ model: x }, {}] }]`)
    .map((problem) => problem.replace(/ .*/, '')), ['2:16', '2:36', '2:50'], 'which hides no other')
  hasProblem(t, 'providers: [{ id: Groq, base_url: http://a }]\nmodels: [{ id: m, provider: Groq }]',
    '1:19 providers[0].id: has the wrong form')
})

t.test('a missing or meaningless key of a provider is a problem', async (t) => {
  const cases = [
    ['{ id: groq }', '1:13 providers[0].api_key: is missing; groq needs one, e.g. api_key: ${GROQ_API_KEY}'],
    ['{ id: mine, api_key: x }', '1:13 providers[0].base_url: is missing'],
    ['{ id: mine, base_url: "http://a b" }', '1:35 providers[0].base_url: must be an http'],
    ['{ id: mine, base_url: "http://u:p@a" }', '1:35 providers[0].base_url: must be an http'],
    ['{ id: s, protocol: sandbox, api_key: x }', '1:41 providers[0].api_key: has no meaning for the sandbox'],
    ['{ id: groq, api_key: x, headers: { Host: a } }', '1:48 providers[0].headers.Host: is set by the gateway'],
    ['{ id: groq, api_key: x, headers: { "a b": a } }', '1:48 providers[0].headers["a b"]: is not a valid'],
    ['{ id: groq, api_key: x, headers: { a: "b\\nc" } }', '1:51 providers[0].headers.a: has characters']
  ] as const
  for (const [provider, expected] of cases) hasProblem(t, `providers: [${provider}]`, expected)
})

t.test('a policy may name models that a provider will offer', async (t) => {
  const text = 'policies: [{ id: auto:groq, models: [groq/*] }]'
  const { policies } = parseConfig(text, { GROQ_API_KEY: 'x' })
  t.same(policies.map(({ id }) => id), ['auto:groq', 'auto', 'auto:cost', 'auto:quality', 'auto:speed'])
  t.match(policies[0], { models: ['groq/*'], costWeight: null, latencyWeight: null, ceilingNano: null })
})

t.test('syntax errors are listed with the problems before them', async (t) => {
  const text = 'modles: []\nproviders:\n  - id: [a\n  - id: b\npolicies: 5'
  const problems = problemsOf(text)
  t.match(problems[0], '1:1 modles: is not a known key')
  t.match(problems[1], /^\d+:\d+ : /)
  t.notOk(problems.some((problem) => problem.includes('policies')), 'nothing after them is reported')
  t.same(problemsOf('models: []\nmodels: []'), ['2:1 : this key is a duplicate'])
  t.same(problemsOf('a: 1\n---\nb: 2').at(-1), '2:1 : only one YAML document is allowed')
})

t.test('the environment may set strings, numbers and booleans, but not structure', async (t) => {
  const text = `${alone}
providers:
  - id: mine
    base_url: http://\${HOST:-127.0.0.1}:\${PORT:-8000}/v1/
    api_key: '\${KEY}'
    headers: { x-literal: '$\${KEY}', x-empty: '\${EMPTY:-instead}', x-both: 'a\${ONE}b\${ONE}' }
    max_connections: \${CONNECTIONS}
    discover: \${DISCOVER}`
  const key = '"]}\nproviders: []'
  const env = { KEY: key, EMPTY: '', ONE: '1', CONNECTIONS: '7', DISCOVER: 'true', PORT: '9' }
  t.match(parseConfig(text, env).providers, [{
    baseUrl: 'http://127.0.0.1:9/v1',
    apiKey: key,
    headers: { 'x-literal': '${KEY}', 'x-empty': 'instead', 'x-both': 'a1b1' },
    maxConnections: 7,
    discover: true
  }])
  t.equal(parseConfig(text, { ...env, KEY: '12345' }).providers[0]?.apiKey, '12345', 'a string stays a string')
})

t.test('only a substituted string is converted to a number', async (t) => {
  const text = 'providers: [{ id: groq, api_key: x, max_connections: "7" }]'
  hasProblem(t, text, '1:54 providers[0].max_connections: must be a whole number')
})

t.test('keys are not substituted', async (t) => {
  const text = 'providers: [{ id: groq, api_key: x, headers: { "${A}": a } }]'
  hasProblem(t, text, '1:48 providers[0].headers["${A}"]: is not a valid header name', { A: 'b' })
})

t.test('a variable that is not set, or a malformed reference, is a problem', async (t) => {
  const text = 'providers: [{ id: groq, api_key: x, headers: { a: VALUE } }]'
  hasProblem(t, text.replace('VALUE', '"${A}"'), '1:51 providers[0].headers.a: the environment variable A is not set')
  hasProblem(t, text.replace('VALUE', '"${A B}"'), '1:51 providers[0].headers.a: has a "${" that does not start')
  t.equal(problemsOf(text.replace('VALUE', '"${A}${B}"')).length, 2)
})

t.test('no message contains a value from the environment or an API key', async (t) => {
  const env = { SECRET: 'sk-secret' }
  const texts = [
    'providers: [{ id: "${SECRET}!" }]',
    'providers: [{ id: groq, api_key: "${SECRET}", max_connections: "${SECRET}" }]',
    'providers: [{ id: groq, api_key: { sk-secret } }]',
    'models: [{ id: m, provider: "${SECRET}", kind: "${SECRET}", price: { input: "${SECRET}" } }]',
    'providers:\n  - api_key: "a" sk-secret\n',
    'providers: [{ id: mine, base_url: "http://u:${SECRET}@a" }]',
    'a: 1\n}sk-secret',
    'policies: [{ id: auto, models: ["${SECRET}"], ceiling: "${SECRET}" }]'
  ]
  for (const text of texts) {
    const problems = problemsOf(text, env).map((problem) => problem.replace(/^\S+ \S+ /, ''))
    t.ok(problems.length > 0, text)
    t.notMatch(problems.join('\n'), 'sk-secret', text)
  }
})

t.test('aliases work, are limited, and need an anchor', async (t) => {
  const text = `${alone}
providers:
  - { id: groq, api_key: x, timeouts: &slow { total_ms: 900000 } }
  - { id: xai, api_key: x, timeouts: *slow }`
  t.match(parseConfig(text, {}).providers[1]?.timeouts, { totalMs: 900_000 })
  t.match(problemsOf('models: *unknown'), ['1:9 models: the anchor &unknown is not defined'])
  const laughs = ['a0: &a0 [x]', ...Array.from({ length: 9 }, (_, i) => {
    return `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`
  })]
  t.match(problemsOf(laughs.join('\n')).join(), 'aliases')
  t.match(problemsOf('models: &a [*a]').join(), 'models[0]: must be a map')
})

t.test('nesting is limited', async (t) => {
  for (const depth of [40, 1_000, 20_000]) {
    t.match(problemsOf(`models: ${'['.repeat(depth)}${']'.repeat(depth)}`).join(), /nested/, `${depth} levels`)
  }
})

t.test('a provider of the file replaces the one from the environment', async (t) => {
  const env = { OPENAI_API_KEY: 'from-env', GROQ_API_KEY: 'gsk' }
  const file = 'providers: [{ id: openai, api_key: own, base_url: http://127.0.0.1:1/v1 }]'
  t.match(parseConfig(file, env).providers, [{ id: 'openai', apiKey: 'own' }, { id: 'groq', apiKey: 'gsk' }])
  t.match(parseConfig(`${alone}${file}`, env).providers.map(({ id }) => id), ['openai'])
  t.equal(parseConfig('models: [{ id: m, provider: groq }]', env).models[0]?.ownedBy, 'groq')
})

t.test('a file has the sandbox only if it lists it', async (t) => {
  t.same(parseConfig('', {}), { ...parseConfig('{}', {}), providers: [], models: [] })
  const listed = parseConfig('providers: [{ id: try, protocol: sandbox }]', {})
  t.match(listed.providers, [{ id: 'try', protocol: 'sandbox', baseUrl: '' }])
  t.match(listed.models, [{ id: 'sandbox-chat', deployments: [{ provider: 'try' }] }, { id: 'sandbox-image' }])
})

t.test('a file that cannot be read is a problem', async (t) => {
  const directory = t.testdir({ 'big.yaml': '#'.repeat(maxFileBytes + 1), 'good.yaml': 'models: []' })
  await t.rejects(loadConfig({ path: join(directory, 'none.yaml'), env: {} }), ConfigError)
  await t.rejects(loadConfig({ path: join(directory, 'big.yaml'), env: {} }), { message: /larger than 4194304 bytes/ })
  t.match(await loadConfig({ path: join(directory, 'good.yaml'), env: {} }), { models: [] })
  t.match(await loadConfig({ path: null, env: {} }), { models: [{ id: 'sandbox-chat' }, { id: 'sandbox-image' }] })
})

t.test('problems beyond 1000 are counted', async (t) => {
  const problems = problemsOf(Array.from({ length: 1003 }, (_, index) => `key${index}: 1`).join('\n'))
  t.equal(problems.length, 1001)
  t.equal(problems.at(-1), 'null:null : and 3 more')
})

t.test('the message names the file and every place', async (t) => {
  t.throws(() => parseConfig('a: 1\nb: 2', {}, 'my.yaml'), {
    message: 'my.yaml has 2 problems:\n  my.yaml:1:1 a: is not a known key\n  my.yaml:2:1 b: is not a known key'
  })
})

t.test('a hostile file is refused at once, each problem by line and column', async (t) => {
  const ninefold = (index: number) => Array.from({ length: 9 }, () => `*a${index}`).join(', ')
  const laughs = Array.from({ length: 30 }, (_, index) => `a${index + 1}: &a${index + 1} [${ninefold(index)}]`)
  const texts: Record<string, [text: string, problem: RegExp]> = {
    'an alias bomb': [`a0: &a0 [x]\n${laughs.join('\n')}`, /^1:1 : has more than 10000 aliases/],
    'an alias of itself': ['a: &a [*a]', /^1:1 a: is not a known key/],
    'a tab': ['providers:\n\t- id: groq', /^2:1 : Tabs are not allowed/],
    'a duplicate key': ['providers: []\nproviders: []', /^2:1 : this key is a duplicate/],
    'a long text': [`models:\n  - id: ${'x'.repeat(3_900_000)}`, /^2:9 models\[0\].id: has the wrong format/],
    'wrong types': ['models: 5\nproviders: yes', /^1:9 models: must be a list[^]*2:12 providers: must be a list/],
    'a tag of code': ['models: !!js/function "x"', /^1:9 : Unresolved tag/],
    'a prototype': ['__proto__: {a: 1}', /^1:1 __proto__: is not a known key/],
    'carriage returns alone': ['providers: []\rmodels: 5', /^1:\d+ /],
    'a byte order mark and CRLF': ['\uFEFFproviders: []\r\nmodels: 5\r\n', /^2:9 models: must be a list/],
    'a NUL': ['providers: []\0', /^1:\d+ /],
    'too many models': [`models:\n${'- {id: a}\n'.repeat(12_000)}`, /^2:1 models: must not have more than 10000 items$/],
    'deep nesting': [`models: ${'{a: '.repeat(5000)}`, /^1:134 models.*is nested more than 32 levels deep/]
  }
  for (const [name, [text, problem]] of Object.entries(texts)) {
    const startedMs = processorMs()
    t.match(problemsOf(text).join('\n'), problem, name)
    const tookMs = processorMs() - startedMs
    t.ok(tookMs < 4000, `${name}: ${tookMs} ms`)
  }
})

t.test('a file of more tokens than are parsed in a second is refused before it is parsed', async (t) => {
  for (const [name, text] of Object.entries({
    'a model a line': `models:\n${'- {id: a}\n'.repeat(300_000)}`,
    'all models in one line': `models: [${'a,'.repeat(1_900_000)}]`
  })) {
    const startedMs = processorMs()
    t.match(problemsOf(text).join('\n'), /^\d+:\d+ : there are more than 1000000 tokens of YAML/, name)
    const tookMs = processorMs() - startedMs
    t.ok(tookMs < 4000, `${name}: ${tookMs} ms`)
  }
})

t.test('a file of 10 MB is refused before it is read', async (t) => {
  const folder = t.testdir({ 'gateway.yaml': 'x'.repeat(10 * 1024 ** 2) })
  const startedMs = runningMs()
  await t.rejects(loadConfig({ path: join(folder, 'gateway.yaml'), env: {} }), /is larger than 4194304 bytes/)
  t.ok(runningMs() - startedMs < 1000)
})
