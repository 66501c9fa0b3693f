import t from 'tap'
import type { ModelConfig } from '../../services/config/catalogue/types.ts'
import { emptyPrice, modelFromCatalogue } from '../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { rejection } from '../helpers/thrown.ts'
import { refusal, reply, startUpstream } from '../servers/upstream.ts'
import { clients } from './clients.ts'

const names = ['eu', 'us', 'anywhere'] as const
const servers = { eu: await startUpstream(), us: await startUpstream(), anywhere: await startUpstream() }
t.teardown(() => Promise.all(Object.values(servers).map(server => server.close())))

const providers = [
  providerAt(servers.eu.url, { id: 'eu', region: 'europe-west4' }),
  providerAt(servers.us.url, { id: 'us', region: 'us-east5' }),
  providerAt(servers.anywhere.url, { id: 'anywhere' })
]
const price = { ...emptyPrice, inputPico: 1, outputPico: 1, imageNano: 1, secondNano: 1 }

function model (id: string, at: readonly string[], more: Partial<ModelConfig> = {}): ModelConfig {
  const deployments = at.map((provider, priority) => ({ provider, model: 'gpt-5-nano', weight: 1, priority }))
  return { ...modelFromCatalogue(at[0] ?? '', 'gpt-5-nano'), id, deployments, price, quality: { chat: 0.5 }, ...more }
}

const base = { costWeight: null, latencyWeight: null, ceilingNano: null }
const first = providers[0] ?? providerAt('')
const gateway = await startGateway(t, {
  config: {
    ...configFor(first),
    providers,
    models: [
      model('everywhere', ['us', 'anywhere', 'eu']),
      model('best', ['us'], { quality: { chat: 0.99 }, fallbacks: ['everywhere'] }),
      model('local', ['eu'], { fallbacks: ['best', 'everywhere'] }),
      model('picture', ['us', 'eu'], { kind: 'image' }),
      model('film', ['us'], { kind: 'video' })
    ],
    policies: [
      { id: 'auto', models: ['*'], regions: ['europe-*'], ...base },
      { id: 'auto:nowhere', models: ['*'], regions: ['moon'], ...base },
      { id: 'auto:film', models: ['film'], regions: ['europe-*'], ...base },
      { id: 'auto:all', models: ['*'], ...base }
    ]
  }
})
const openai = clients['openai 7'](gateway)
const messages = [{ role: 'user' as const, content: 'Hi' }]

/** The servers that a request reaches. */
async function reached (work: () => Promise<unknown>): Promise<string[]> {
  const before = names.map(name => servers[name].requests.length)
  await work()
  return names.filter((name, at) => servers[name].requests.length > (before[at] ?? 0))
}

t.test('a policy with regions chooses only models and deployments there', async t => {
  for (const stream of [false, true]) {
    const work = async () => await openai.chat.completions.create({ model: 'auto', messages, stream }).asResponse().then(r => r.text())
    t.same(await reached(work), ['eu'])
  }
  const everywhere = async () => await openai.chat.completions.create({ model: 'auto:all', messages })
  t.notSame(await reached(everywhere), ['eu'])
})

t.test('it fails rather than fall back to another region', async t => {
  servers.eu.always(refusal(503))
  t.teardown(() => servers.eu.always(reply()))
  const work = async () => { t.match(await rejection(openai.chat.completions.create({ model: 'auto', messages })), { status: 503 }) }
  t.same(await reached(work), ['eu'])
})

t.test('a request that no allowed region serves is refused, with the reason', async t => {
  const error = await rejection(openai.chat.completions.create({ model: 'auto:nowhere', messages }))
  t.match(error, { status: 400, code: 'no_model_qualifies', message: /not served in an allowed region \(region\)/ })
  const video = rejection(openai.chat.completions.create({ model: 'auto:film', messages }))
  t.match(await video, { status: 400, code: 'region_not_allowed', message: /`film`.*europe-\*/ })
})

t.test('a key with regions reaches providers there alone, by every name and endpoint', async t => {
  const { app } = gateway
  const { id, account } = (await app.keys.list({ account: null, after: null, limit: 1 }))[0] ?? { id: '', account: '' }
  t.ok(account)
  await app.keys.update(id, { regions: ['europe-west4', 'europe-north1'] })
  const create = async (model: string) => await openai.chat.completions.create({ model, messages })
  t.same(await reached(async () => await create('everywhere')), ['eu'])
  t.same(await reached(async () => await create('auto:all')), ['eu'])
  t.match(await rejection(create('best')), {
    status: 400, code: 'region_not_allowed', param: 'model', message: /`best`.*europe-west4, europe-north1/
  })
  servers.eu.script(refusal(503))
  t.same(await reached(async () => await create('local')), ['eu'], 'a fallback there')
  t.match(await rejection(create('film')), { status: 400, code: 'region_not_allowed' })
  const paint = async () => await rejection(openai.images.generate({ model: 'picture', prompt: 'A fox' }))
  t.same(await reached(paint), ['eu'])
  await app.keys.update(id, { regions: null })
  t.same(await reached(async () => await create('best')), ['us'])
})
