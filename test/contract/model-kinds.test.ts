import OpenAI from 'openai'
import t from 'tap'
import { parseConfig } from '../../services/config/read/parse.ts'
import { startGateway } from '../helpers/gateway.ts'
import { document, startUpstream } from '../servers/upstream.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.close())
// The form of Together's list.
upstream.models(document(JSON.stringify([
  { id: 'plain', type: 'chat' }, { id: 'painter', type: 'image' }, { id: 'whisper-1' }, { id: 'films', type: 'video' },
  { id: 'vectors', type: 'embedding' }
])))
const config = parseConfig(`
environment_providers: false
providers: [{ id: up, base_url: "${upstream.url}", discover: true }, { id: openai, base_url: "${upstream.url}", api_key: x }]
models: [{ id: sold, provider: up, price: { input: 1, output: 2 } }]`, {})
const gateway = await startGateway(t, { config })
await gateway.app.models.discover(AbortSignal.timeout(20_000))
const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'hello' }]

t.test('a bare list is read, with the kinds that it states', async t => {
  const listed: unknown[] = []
  for await (const model of openai.models.list()) {
    if (model.id.startsWith('up/')) listed.push([model.id, Reflect.get(model, 'kind')])
  }
  t.same(listed, [['up/plain', 'chat'], ['up/painter', 'image'], ['up/films', 'video']])
})

t.test('refusals say what a model does, and the price that it lacks in its unit', async t => {
  await t.rejects(openai.chat.completions.create({ model: 'up/painter', messages }),
    { status: 400, message: /makes images; it cannot chat/ })
  await t.rejects(openai.images.generate({ model: 'up/films', prompt: 'x' }),
    { status: 400, message: /makes videos; it cannot make images/ })
  await t.rejects(openai.chat.completions.create({ model: 'up/films', messages }),
    { status: 400, code: 'model_not_priced', message: /price: \{ second: … \}/ })
  await t.rejects(openai.chat.completions.create({ model: 'openai/tts-1', messages }),
    { status: 404, code: 'model_not_found', message: /It makes speech/ })
  await t.rejects(openai.chat.completions.create({ model: 'gpt-realtime-2', messages }),
    { status: 404, message: /needs a realtime connection/ })
})

t.test('a typo gets 404 with the nearest name', async t => {
  await t.rejects(openai.chat.completions.create({ model: 'up/plian', messages }),
    { status: 404, code: 'model_not_found', message: /Did you mean `up\/plain`\?/ })
  await t.rejects(openai.models.retrieve('slod'), { status: 404, message: /Did you mean `sold`\?/ })
})
