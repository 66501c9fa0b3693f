import t from 'tap'
import { parseConfig } from '../../../../services/config/read/parse.ts'
import { startGateway } from '../../../helpers/gateway.ts'

t.test('Codex gets the policies and the models that it can use, and others the usual list', async t => {
  const gateway = await startGateway(t, {
    config: parseConfig(`
environment_providers: false
providers: [{ id: up, base_url: "http://127.0.0.1:1/v1" }]
models:
  - { id: thinker, provider: up, price: { input: 1, output: 2 }, context_window: 200000, capabilities: { tools: true, reasoning: true, vision: true, audio: true } }
  - { id: plain, provider: up, price: { input: 1, output: 2 }, capabilities: { tools: true } }
  - { id: no-tools, provider: up, price: { input: 1, output: 2 }, capabilities: { tools: false } }
  - { id: no-price, provider: up, capabilities: { tools: true } }
  - { id: painter, provider: up, kind: image, price: { image: 1 } }
policies: [{ id: auto, models: [thinker, plain] }]`, {})
  })
  const list = async (query: string): Promise<ReturnType<typeof Object>> => {
    return Object(await (await fetch(`${gateway.url}/models${query}`, { headers: gateway.headers })).json())
  }
  const { models: all, ...rest } = await list('?client_version=0.171.0')
  t.same(rest, await list(''))
  const models = all.filter(({ slug }: { slug: string }) => !slug.startsWith('auto:'))
  t.match(models, [
    { slug: 'auto', priority: 0, context_window: 200_000, input_modalities: ['text', 'image'] },
    { slug: 'thinker', default_reasoning_level: 'medium', supported_reasoning_levels: [{ effort: 'low' }, {}, {}] },
    { slug: 'plain', supported_reasoning_levels: [], input_modalities: ['text'] }
  ])
  t.equal(models.length, 3)
  const needed = ['slug', 'display_name', 'supported_reasoning_levels', 'shell_type', 'visibility', 'supported_in_api', 'priority',
    'base_instructions', 'support_verbosity', 'truncation_policy', 'experimental_supported_tools']
  for (const model of models) t.same(needed.filter(name => model[name] === undefined), [])
  t.match(await list(''), { object: 'list', data: [{ id: 'auto' }] })
})
