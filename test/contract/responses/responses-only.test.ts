import t from 'tap'
import Anthropic from '@anthropic-ai/sdk'
import { rejection } from '../../helpers/thrown.ts'
import { builtInPolicies } from '../../../services/config/read/policies.ts'
import { openShop, pathsOf } from './native-shop.ts'

// Models that OpenAI serves through its Responses API alone, and of them those that no chat reaches, because
// they work only with tools that the provider runs.

const names = ['o3-deep-research', 'o4-mini-deep-research', 'computer-use-preview']
const reached = ['gpt-5-pro', 'gpt-5.1-codex-max', 'o1-pro', 'codex-mini-latest']
const messages = [{ role: 'user' as const, content: 'x' }]
const deployed = (model: string) => [{ provider: 'up', model, weight: 1, priority: 0 }]

t.test('they answer responses, and are refused by name everywhere else', async t => {
  for (const name of names) {
    const shop = await openShop(t, { model: { id: name, deployments: deployed(name) } })
    const { client, gateway, upstream } = shop
    t.equal((await client.responses.create({ model: name, input: 'x' })).output_text, 'Good day.')
    const [param, code, message] = ['model', 'unsupported_endpoint', /v1\/responses/]
    const refused = { status: 404, param, code, message }
    t.match(await rejection(client.chat.completions.create({ model: name, messages })), refused)
    t.match(await rejection(client.completions.create({ model: name, prompt: 'x' })), refused)
    const baseURL = new URL(gateway.url).origin
    const claude = new Anthropic({ baseURL, apiKey: gateway.key, maxRetries: 0 })
    const asked = claude.messages.create({ model: name, max_tokens: 10, messages })
    t.match(await rejection(asked), { status: 404 })
    t.same(pathsOf(shop), ['/v1/responses'])
    t.equal(upstream.requests.length, 1)
    t.ok((await client.models.list()).data.some(({ id }) => id === name), 'listed')
    t.same((await claude.models.list()).data, [], 'not where it cannot be used')
    t.match(await rejection(claude.models.retrieve(name)), { status: 404, type: 'not_found_error' })
    await gateway.app.close()
  }
})

t.test('the others are reached by every API', async t => {
  for (const name of reached) {
    const shop = await openShop(t, { model: { id: name, deployments: deployed(name) } })
    const { client, gateway } = shop
    t.equal((await client.responses.create({ model: name, input: 'x' })).output_text, 'Good day.')
    t.equal((await client.chat.completions.create({ model: name, messages })).choices[0]?.message.content, 'Good day.')
    const baseURL = new URL(gateway.url).origin
    const claude = new Anthropic({ baseURL, apiKey: gateway.key, maxRetries: 0 })
    t.match(await claude.messages.create({ model: name, max_tokens: 20, messages }), { content: [{ text: 'Good day.' }] })
    t.match(await client.completions.create({ model: name, prompt: 'x', max_tokens: 20 }), { choices: [{ text: 'Good day.' }] })
    t.same(pathsOf(shop), ['/v1/responses', '/v1/responses', '/v1/responses', '/v1/responses'])
    t.equal((await claude.models.list()).data.length, 1)
    await gateway.app.close()
  }
})

t.test('where the API is switched off, they are refused', async t => {
  const shop = await openShop(t, { provider: { responses: 'off' }, model: { id: 'gpt-5-pro', deployments: deployed('gpt-5-pro') } })
  t.match(await rejection(shop.client.chat.completions.create({ model: 'gpt-5-pro', messages })),
    { status: 404, code: 'unsupported_endpoint' })
})

t.test('a policy chooses them for responses, never for chat', async t => {
  const shop = await openShop(t, {
    config: config => {
      const [usual] = config.models
      const policy = builtInPolicies().find(({ id }) => id === 'auto:quality')
      if (usual === undefined || policy === undefined) throw new Error('nothing to choose from')
      const only = { ...usual, id: 'o3-deep-research', deployments: deployed('o3-deep-research') }
      return {
        ...config,
        models: [only, usual],
        policies: [
          { ...policy, id: 'auto:only', models: ['o3-deep-research'] },
          { ...policy, id: 'auto:both', models: ['o3-deep-research', 'chat'] }
        ]
      }
    }
  })
  const { client, upstream } = shop
  const modelOf = () => upstream.requests.at(-1)?.body?.model
  await client.responses.create({ model: 'auto:only', input: 'x' })
  t.equal(modelOf(), 'o3-deep-research')
  t.match(await rejection(client.chat.completions.create({ model: 'auto:only', messages })),
    { status: 400, code: 'no_model_qualifies', message: /only served in v1\/responses/ })
  await client.chat.completions.create({ model: 'auto:both', messages })
  t.equal(modelOf(), 'gpt-5-nano')
})

t.test('a fallback of that kind is left out for chat', async t => {
  const shop = await openShop(t, {
    config: config => {
      const only = config.models.map(one => ({ ...one, id: 'o3-deep-research', deployments: deployed('o3-deep-research') }))
      return { ...config, models: [...config.models, ...only] }
    }
  })
  shop.upstream.script(({ response }) => { response.writeHead(500).end('{}') })
  const body = { model: 'chat', messages, fallbacks: ['o3-deep-research'] }
  t.match(await rejection(shop.client.chat.completions.create(body)), { status: 502 })
  t.equal(shop.upstream.requests.length, 1)
})
