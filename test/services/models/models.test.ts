import t from 'tap'
import { newProvider } from '../../../services/config/new-provider.ts'
import { parseConfig } from '../../../services/config/read/parse.ts'
import { createModels } from '../../../services/models/models.ts'
import type { Provider } from '../../../services/providers/provider.ts'
import type { Providers } from '../../../services/providers/registry.ts'

const { signal } = new AbortController()

function configOf (...providers: string[]) {
  return parseConfig(`environment_providers: false\nproviders: [${providers.join(', ')}]`, {})
}

const local = '{ id: local, base_url: http://localhost:1/v1, discover: true }'
const other = '{ id: other, base_url: http://127.0.0.1:2/v1 }'

/** Models of one configuration, whose providers answer with `lists`. */
function start (config = configOf(local), lists: Record<string, () => Promise<string[]>> = {}) {
  const events: string[] = []
  const applied: string[][] = []
  const get = (id: string): Provider | undefined => {
    return lists[id] && { id, close: async () => {}, models: lists[id] }
  }
  const apply: Providers['apply'] = all => { applied.push(all.map(({ id }) => id)) }
  const models = createModels({
    config,
    providers: { get, apply },
    onUnlisted: (provider, error) => events.push(`${provider}: ${error}`),
    onTruncated: (provider, count) => events.push(`${provider} dropped ${count}`)
  })
  const ids = () => models.list().map(({ id }) => id)
  return { models, events, applied, ids }
}

t.test('the models of providers with discover are offered, and survive a new configuration', async t => {
  const { models, ids } = start(configOf(local, other), { local: async () => ['a'], other: async () => ['b'] })
  const before = models.version()
  await models.discover(signal)
  t.same(ids(), ['local/a'], 'other does not discover')
  t.not(models.version(), before)
  models.apply(configOf(local))
  t.same(ids(), ['local/a'])
  models.apply(configOf(other))
  t.same(ids(), [])
})

t.test('a failed listing keeps the former models and is reported unless it was aborted', async t => {
  const answers = [async () => ['a'], async () => { throw new Error('refused') }]
  const { models, events, ids } = start(undefined, { local: async () => await answers.shift()?.() ?? [] })
  await models.discover(signal)
  await models.discover(signal)
  t.same(ids(), ['local/a'])
  t.same(events, ['local: Error: refused'])
  const aborted = start(undefined, { local: async () => { throw new Error('aborted') } })
  await aborted.models.discover(AbortSignal.abort())
  t.same(aborted.events, [])
})

t.test('too many models are reported', async t => {
  const { models, events } = start(undefined, { local: async () => Array.from(Array(5002), (_, i) => `m${i}`) })
  await models.discover(signal)
  t.same(events, ['local dropped 2'])
})

t.test('a listing that ends after its provider was removed is ignored', async t => {
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const { models, ids, events } = start(undefined, { local: () => promise })
  const discovered = models.discover(signal)
  models.apply(configOf(other))
  resolve(['a'])
  await discovered
  t.same(ids(), [])
  t.same(events, [])
})

t.test('a provider found at run time is added unless its id or server is configured', async t => {
  const { models, applied } = start()
  models.addProviders([
    newProvider({ id: 'found', baseUrl: 'http://127.0.0.1:3/v1' }),
    newProvider({ id: 'local', baseUrl: 'http://127.0.0.1:4/v1' }),
    newProvider({ id: 'same', baseUrl: 'http://[::1]:1/v1/' })
  ])
  t.same(models.config().providers.map(({ id }) => id), ['local', 'found'])
  t.same(applied.at(-1), ['local', 'found'])
  models.apply(configOf(other))
  t.same(models.config().providers.map(({ id }) => id), ['other', 'found', 'local', 'same'])
})
