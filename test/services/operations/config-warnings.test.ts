import t from 'tap'
import { parseConfig } from '../../../services/config/read/parse.ts'
import { createModelRegistry } from '../../../services/models/registry.ts'
import { configWarnings } from '../../../services/operations/observability/config-warnings.ts'

function warningsOf (text: string, env = {}): string[] {
  const config = parseConfig(text, env)
  return configWarnings(config, createModelRegistry(config).resolve)
}

const key = 'api_key: sk-1'

t.test('an address that hardly serves the API is named', t => {
  const cases: [string, string | null][] = [
    [`{ id: openai, ${key}, base_url: 'https://api.openai.com' }`, 'has no path; the API of such servers is usually at /v1'],
    ['{ id: gpu, base_url: \'http://gpu.lan:8000\' }', 'the base_url of the provider gpu has no path'],
    [`{ id: groq, ${key}, base_url: 'https://api.groq.com' }`, 'usually at /openai/v1'],
    [`{ id: openai, ${key}, base_url: 'https://api.groq.com/openai/v1' }`, 'the provider openai has the base_url of groq'],
    [`{ id: claude, ${key}, base_url: 'https://api.anthropic.com/v1' }`, null],
    [`{ id: deepseek, ${key}, base_url: 'https://api.deepseek.com' }`, null],
    [`{ id: openai, ${key}, base_url: 'https://proxy.lan/v1' }`, null],
    [`{ id: openai, ${key} }`, null]
  ]
  for (const [provider, words] of cases) {
    const warnings = warningsOf(`providers: [${provider}]`)
    if (words === null) t.same(warnings, [], provider)
    else t.match(warnings, [words], provider)
  }
  t.end()
})

t.test('the address of an endpoint is refused', t => {
  for (const path of ['/v1/chat/completions', '/v1/responses/', '/v1/messages']) {
    const text = `providers: [{ id: gpu, base_url: 'http://gpu.lan${path}' }]`
    t.throws(() => parseConfig(text, {}), /base_url: must not end in \/\w+(\/completions)?, which the gateway appends/)
  }
  t.end()
})

const providers = `providers: [{ id: openai, ${key} }, { id: anthropic, ${key} }]`
const model = (fields: string) => `${providers}\nmodels: [{ id: m, provider: openai, ${fields} }]`

t.test('prices and fallbacks that do not do what they seem to are named', t => {
  t.match(warningsOf(model('price: { input: 1 }')), ['the model m has no price for \'output\', so its requests are refused'])
  t.match(warningsOf(model('price: { image: 1 }, kind: chat')), [])
  t.same(warningsOf(model('price: { input: 0, output: 0 }, cost: { input: 1, output: 2 }')), [], 'free on purpose')
  t.match(warningsOf(model('price: { input: 0.001, output: 0.002 }, cost: { input: 1, output: 2 }')), ['the model m is sold below its \'cost\''])
  const dear = 'price: { input: 0.01, output: 0.02 }, fallbacks: [claude-sonnet-4-5]'
  t.match(warningsOf(model(dear)), [/^the fallback claude-sonnet-4-5 of the model m costs more, so it is never called/])
  t.same(warningsOf(`${model(dear)}\nrequests: { allow_dearer_fallbacks: true }`), [])
  t.throws(() => parseConfig(model('price: 0'), {}), /price: must be a map; an example is \{"input":0,"output":0\}/)
  t.end()
})

t.test('half of the settings of a provider that the file does not list are ignored, and said so', t => {
  t.same(warningsOf(providers, { AZURE_OPENAI_API_KEY: 'sk-2' }),
    ['AZURE_OPENAI_ENDPOINT must be set together with AZURE_OPENAI_API_KEY; without it, this provider is left out'])
  t.end()
})
