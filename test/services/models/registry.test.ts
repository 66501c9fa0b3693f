import t from 'tap'
import { parseConfig } from '../../../services/config/read/parse.ts'
import type { ModelConfig } from '../../../services/config/catalogue/types.ts'
import { createModelRegistry } from '../../../services/models/registry.ts'

const config = parseConfig(`
environment_providers: false
providers:
  - { id: openai, api_key: x }
  - { id: openrouter, api_key: x }
  - { id: local, base_url: http://127.0.0.1:1/v1, claims: [my-*, gpt-*] }
models:
  - id: several
    price: { input: 1, output: 2 }
    deployments:
      - { provider: local, model: third, priority: 1, weight: 9 }
      - { provider: local, model: second, weight: 1 }
      - { provider: openai, model: first, weight: 2 }
  - { id: openai/gpt-priced, provider: openai, model: gpt-priced, price: { input: 1, output: 2 } }
  - { id: gpt-4o, provider: openrouter, model: openai/gpt-4o }
`, {})

/** The first deployment of a request for an id, as `<model> at <provider> as <upstream>`. */
function route (registry: ReturnType<typeof createModelRegistry>, id: string): string | undefined {
  const resolved = registry.resolve(id)
  const first = resolved?.deployments[0]
  return first && `${resolved.model.id} at ${first.provider} as ${first.model}`
}

t.test('deployments are sorted by priority, then by weight', async (t) => {
  const { resolve } = createModelRegistry(config)
  t.same(resolve('several')?.deployments.map(({ model }) => model), ['first', 'second', 'third'])
  t.same(config.models[0]?.deployments.map(({ model }) => model), ['third', 'second', 'first'], 'the configuration keeps its order')
})

t.test('a model of the file takes precedence', async (t) => {
  const registry = createModelRegistry(config)
  t.equal(route(registry, 'gpt-4o'), 'gpt-4o at openrouter as openai/gpt-4o')
  registry.setDiscovered('openai', ['gpt-4o', 'several'])
  t.equal(route(registry, 'gpt-4o'), 'gpt-4o at openrouter as openai/gpt-4o')
  t.equal(route(registry, 'several'), 'several at openai as first')
})

t.test('an offered model has the id of its provider as a prefix, or its bare name', async (t) => {
  const registry = createModelRegistry(config)
  t.equal(route(registry, 'llama3:8b'), undefined)
  registry.setDiscovered('local', ['llama3:8b', 'meta/llama', 'shared'])
  registry.setDiscovered('openrouter', ['shared', 'meta/other'])
  t.equal(route(registry, 'local/llama3:8b'), 'local/llama3:8b at local as llama3:8b')
  t.equal(route(registry, 'llama3:8b'), 'local/llama3:8b at local as llama3:8b')
  t.equal(route(registry, 'meta/llama'), 'local/meta/llama at local as meta/llama')
  t.equal(route(registry, 'shared'), 'openrouter/shared at openrouter as shared', 'the first provider that offers it')
  registry.setDiscovered('openrouter', [])
  t.equal(route(registry, 'shared'), 'local/shared at local as shared')
  t.equal(route(registry, 'meta/other'), undefined, 'no longer offered')
})

t.test('a prefix that is the id of a provider always means that provider', async (t) => {
  const registry = createModelRegistry(config)
  registry.setDiscovered('openrouter', ['openai/o9', 'meta/llama'])
  t.equal(route(registry, 'openai/o9'), 'openai/o9 at openai as o9')
  t.equal(route(registry, 'openrouter/openai/o9'), 'openrouter/openai/o9 at openrouter as openai/o9')
  t.equal(route(registry, 'meta/llama'), 'openrouter/meta/llama at openrouter as meta/llama')
})

t.test('any name is passed to the provider in its prefix', async (t) => {
  const registry = createModelRegistry(config)
  t.equal(route(registry, 'openrouter/a/b:free'), 'openrouter/a/b:free at openrouter as a/b:free')
  t.equal(route(registry, 'openai/'), undefined)
  t.equal(route(registry, 'unknown/x'), undefined)
  t.match(registry.resolve('openrouter/x')?.model, {
    kind: 'chat', price: null, contextWindow: null, ownedBy: 'openrouter', created: 1_767_225_600
  })
})

t.test('a bare name goes to the first provider that claims it', async (t) => {
  const registry = createModelRegistry(config)
  t.equal(route(registry, 'gpt-5'), 'openai/gpt-5 at openai as gpt-5')
  t.equal(route(registry, 'my-model'), 'local/my-model at local as my-model')
  t.equal(route(registry, 'your-model'), undefined)
})

t.test('a model of the file applies to its bare name too', async (t) => {
  const registry = createModelRegistry(config)
  const priced = { id: 'openai/gpt-priced', price: { inputPico: 1_000_000 } }
  t.match(registry.resolve('gpt-priced')?.model, priced, 'claimed')
  registry.setDiscovered('openai', ['gpt-priced'])
  t.match(registry.resolve('gpt-priced')?.model, priced, 'offered')
})

t.test('the list has the models of the file, then the offered ones, each once', async (t) => {
  const registry = createModelRegistry(config)
  registry.setDiscovered('local', ['b', 'a', 'b', ''])
  registry.setDiscovered('openai', ['gpt-priced', 'o9'])
  registry.resolve('openai/passed-through')
  t.same(registry.list().map(({ id }) => id),
    ['several', 'openai/gpt-priced', 'gpt-4o', 'openai/o9', 'local/b', 'local/a'])
  t.equal(registry.get('local/a')?.ownedBy, 'local')
  t.equal(registry.get('a')?.id, 'local/a')
  t.equal(registry.get('openai/passed-through'), undefined)
})

t.test('until a provider has listed its models, those of the catalogue are offered', async (t) => {
  const keys = { OPENAI_API_KEY: 'x', GROQ_API_KEY: 'x', PERPLEXITY_API_KEY: 'x', AZURE_OPENAI_API_KEY: 'x' }
  const registry = createModelRegistry(parseConfig('', { ...keys, AZURE_OPENAI_ENDPOINT: 'https://a' }))
  const listed = (provider: string) => registry.list().map(({ id }) => id).filter((id) => id.startsWith(`${provider}/`))
  t.ok(listed('openai').includes('openai/gpt-4.1'))
  t.notOk(listed('openai').includes('openai/text-embedding-3-small'))
  t.ok(listed('perplexity').includes('perplexity/sonar'), 'also if the provider has no list')
  t.same(listed('azure'), [], 'not if each customer deploys a selection')

  const bare = 'llama-3.3-70b-versatile'
  t.equal(route(registry, bare), `groq/${bare} at groq as ${bare}`)
  t.equal(registry.setDiscovered('groq', ['llama-3.1-8b-instant', 'whisper-large-v3', 'brand-new']), 0)
  t.same(listed('groq'), ['groq/llama-3.1-8b-instant', 'groq/brand-new'])
  t.equal(registry.get(bare), undefined, 'the provider does not offer it')
  registry.setDiscovered('groq', [])
  t.equal(registry.get(bare)?.id, `groq/${bare}`)
})

t.test('providers of the file offer the catalogue only with discover', async (t) => {
  t.same(createModelRegistry(config).list().map(({ id }) => id), ['several', 'openai/gpt-priced', 'gpt-4o'])
})

t.test('the catalogue completes a model however it is found', async (t) => {
  const registry = createModelRegistry(config)
  const known = { kind: 'chat', price: { inputPico: 50_000 }, contextWindow: 400_000, maxOutput: 128_000 }
  t.match(registry.resolve('openai/gpt-5-nano')?.model, known, 'passed through')
  t.match(registry.resolve('gpt-5-nano-2025-08-07')?.model, known, 'claimed')
  registry.setDiscovered('openrouter', ['openai/gpt-5-nano'])
  t.match(registry.get('openrouter/openai/gpt-5-nano'), { price: { inputPico: 50_000 } }, 'offered')
  t.equal(registry.resolve('local/gpt-5-nano')?.model.price, null, 'not at another provider')
  t.equal(registry.resolve('openai/text-embedding-3-small'), undefined, 'no endpoint serves it')
})

t.test('the number and length of ids are limited', async (t) => {
  const registry = createModelRegistry(config)
  const ids = Array.from({ length: 5_003 }, (_, index) => `m${index}`)
  t.equal(registry.setDiscovered('local', ids), 3)
  t.equal(registry.list().length, 3 + 5_000)
  t.equal(registry.setDiscovered('local', ['x'.repeat(512), 'ok']), 1)
  t.equal(registry.resolve(`openai/${'x'.repeat(505)}`)?.deployments.length, 1)
  t.equal(registry.resolve(`openai/${'x'.repeat(506)}`), undefined)
  t.equal(registry.resolve(`gpt-${'x'.repeat(509)}`), undefined)
  t.throws(() => registry.setDiscovered('unknown', []), RangeError)
})

t.test('unlisted models are cached up to a limit', async (t) => {
  const registry = createModelRegistry(config)
  const first = registry.resolve('openai/first')
  t.equal(registry.resolve('openai/first'), first, 'cached')
  for (let index = 0; index < 1_000; index++) registry.resolve(`openai/${index}`)
  t.not(registry.resolve('openai/first'), first, 'evicted')
})

t.test('a model of a kind that is not served, or not at its provider, is neither listed nor found', async t => {
  const registry = createModelRegistry(config)
  registry.setDiscovered('openai', ['gpt-99', 'whisper-1', 'tts-1', 'omni-moderation-latest', 'sora-2', 'dall-e-3', 'babbage-002'])
  const listed = registry.list().filter(({ ownedBy, id }) => ownedBy === 'openai' && id.startsWith('openai/'))
  t.same(listed.map(({ id, kind }) => [id, kind]), [
    ['openai/gpt-priced', 'chat'], ['openai/gpt-99', 'chat'], ['openai/dall-e-3', 'image'], ['openai/babbage-002', 'chat']
  ])
  t.equal(registry.resolve('openai/tts-1'), undefined)
  t.equal(registry.unservedKind('openai/tts-1'), 'speech')
  t.equal(registry.unservedKind('openai/sora-2'), 'video')
  t.equal(registry.unservedKind('openai/dall-e-3'), undefined)
  t.equal(registry.unservedKind('gpt-realtime-2'), 'realtime', 'claimed')
  t.equal(registry.unservedKind('nothing'), undefined)
})

t.test('the kind that a server states counts before the name, and the catalogue before both', async t => {
  const kinds = new Map<string, ModelConfig['kind']>([['mystery', 'image'], ['flux-chat', 'chat'], ['gpt-4.1', 'video']])
  const stated = (_: string, model: string) => ({ kind: kinds.get(model) })
  const registry = createModelRegistry(config, stated)
  registry.setDiscovered('local', ['mystery', 'flux-chat', 'plain'])
  t.same(['mystery', 'flux-chat', 'plain'].map(name => registry.get(`local/${name}`)?.kind), ['image', 'chat', 'chat'])
  t.equal(registry.resolve('openai/gpt-4.1')?.model.kind, 'chat')
})

t.test('a media provider has no chat models', async t => {
  const registry = createModelRegistry(parseConfig('', { FAL_KEY: 'x', REPLICATE_API_TOKEN: 'x' }))
  t.equal(registry.resolve('fal/fal-ai/veo3.1')?.model.kind, 'video')
  t.equal(registry.resolve('fal/fal-ai/recraft/v4/text-to-image')?.model.kind, 'image')
  t.equal(registry.resolve('replicate/google/veo-3.1')?.model.kind, 'video')
  t.equal(registry.list().filter(({ kind }) => kind === 'chat').length, 0)
})

t.test('a name without a price that its provider does not list does not exist', async t => {
  const registry = createModelRegistry(config)
  t.ok(registry.resolve('openai/gpt-4.1-mni'), 'not yet listed')
  const listed = createModelRegistry(config)
  listed.setDiscovered('openai', ['gpt-4.1-mini'])
  t.equal(listed.resolve('openai/gpt-4.1-mni'), undefined)
  t.equal(listed.resolve('gpt-4.1-mni'), undefined)
  t.ok(listed.resolve('openai/gpt-4.1'), 'it has a price')
})
