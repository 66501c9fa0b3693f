import t from 'tap'
import { ConfigError } from '../../../../services/config/config-error.ts'
import { configFromEnvironment } from '../../../../services/config/environment/environment.ts'
import { knownProviders } from '../../../../schemas/config/known-providers.ts'
import { dialects } from '../../../../services/providers/openai/dialects.ts'

const providersOf = (env: NodeJS.ProcessEnv) => configFromEnvironment(env).providers

t.test('an empty environment configures the sandbox', async (t) => {
  t.match(configFromEnvironment({}), {
    providers: [{ id: 'sandbox', protocol: 'sandbox', baseUrl: '', apiKey: null }],
    models: [{
      id: 'sandbox-chat',
      kind: 'chat',
      price: { inputPico: 100_000, outputPico: 400_000 },
      contextWindow: 128_000,
      maxOutput: 4096,
      capabilities: { tools: true, vision: true, jsonSchema: true, streaming: true }
    }, { id: 'sandbox-image', kind: 'image', price: { imageNano: 2_000_000 } }],
    policies: ['auto', 'auto:cost', 'auto:quality', 'auto:speed'].map((id) => ({ id, models: ['*'] }))
  })
})

for (const { id, keys, baseUrl, protocol, dialect, pair } of knownProviders) {
  t.test(`a key adds ${id}`, async (t) => {
    for (const name of keys) {
      const env = {
        [name]: ' key ',
        ...id === 'azure' && { AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com/' },
        KLING_SECRET_KEY: ' secret ',
        AWS_REGION: 'eu-west-1'
      }
      const [provider, sandbox] = providersOf(env)
      const expected = baseUrl?.replace('{region}', 'eu-west-1') ?? 'https://mine.openai.azure.com/openai/v1'
      const apiKey = pair?.key === name ? 'key:secret' : 'key'
      t.match(provider, { id, protocol, dialect, apiKey, baseUrl: expected })
      t.equal(sandbox?.id, 'sandbox')
    }
    t.ok(Object.hasOwn(dialects, dialect), 'in a dialect that exists')
  })
}

t.test('a base URL in the environment replaces the default', async (t) => {
  t.match(providersOf({ OPENAI_API_KEY: 'x', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1/' }), [
    { baseUrl: 'http://127.0.0.1:9/v1' }, { id: 'sandbox' }
  ])
  t.match(providersOf({ OPENAI_BASE_URL: 'http://127.0.0.1:9/v1/' }), [{ id: 'sandbox' }], 'but adds no provider')
})

t.test('a key of Bedrock needs a region', async (t) => {
  t.throws(() => providersOf({ AWS_BEARER_TOKEN_BEDROCK: 'x' }), /AWS_REGION: must be set together/)
  t.match(providersOf({ AWS_BEARER_TOKEN_BEDROCK: 'x', AWS_DEFAULT_REGION: 'us-east-2' }), [{ region: 'us-east-2' }, {}])
})

t.test('an empty key adds nothing', async (t) => {
  t.match(providersOf({ OPENAI_API_KEY: '', GROQ_API_KEY: ' ' }).map(({ id }) => id), ['sandbox'])
})

t.test('OLLAMA_HOST is parsed as Ollama does', async (t) => {
  const cases = {
    '127.0.0.1:5000': 'http://127.0.0.1:5000/v1',
    'gpu.lan': 'http://gpu.lan:11434/v1',
    ':5000': 'http://127.0.0.1:5000/v1',
    '0.0.0.0': 'http://127.0.0.1:11434/v1',
    '0.0.0.0:80': 'http://127.0.0.1/v1',
    '[::]:5000': 'http://[::1]:5000/v1',
    '[fe80::1]': 'http://[fe80::1]:11434/v1',
    'http://gpu.lan': 'http://gpu.lan/v1',
    'https://gpu.lan/ollama/': 'https://gpu.lan/ollama/v1',
    '"gpu.lan:1"': 'http://gpu.lan:1/v1'
  }
  for (const [host, baseUrl] of Object.entries(cases)) {
    t.match(providersOf({ OLLAMA_HOST: host })[0], { id: 'ollama', dialect: 'ollama', baseUrl, discover: true }, host)
  }
})

t.test('another local server is configured by its base URL', async (t) => {
  const env = { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:8000/v1' }
  t.match(providersOf(env)[0], { id: 'local', dialect: 'compatible', apiKey: null, discover: true })
  t.match(providersOf({ ...env, OPENAI_COMPATIBLE_API_KEY: 'k' })[0], { id: 'local', apiKey: 'k' })
})

t.test('every problem is listed at once, without keys', async (t) => {
  const env = {
    AZURE_OPENAI_API_KEY: 'sk-secret',
    OPENAI_API_KEY: 'sk-secret',
    OPENAI_BASE_URL: 'https://user:sk-secret@host',
    OLLAMA_HOST: 'ftp://x',
    OPENAI_COMPATIBLE_BASE_URL: 'localhost:8000'
  }
  try {
    configFromEnvironment(env)
    t.fail('must throw')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    t.same(error.problems.map(({ path }) => path),
      ['OPENAI_BASE_URL', 'AZURE_OPENAI_ENDPOINT', 'OLLAMA_HOST', 'OPENAI_COMPATIBLE_BASE_URL'])
    t.notMatch(error.message, 'sk-secret')
  }
})

t.test('half of a key that is a pair is a problem', async (t) => {
  t.throws(() => configFromEnvironment({ KLING_ACCESS_KEY: 'ak' }), /KLING_SECRET_KEY.*must be set together with KLING_ACCESS_KEY/)
})
