import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { ModelConfig, RequestsConfig } from '../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { startAnthropic } from '../servers/anthropic.ts'
import { reply, startUpstream } from '../servers/upstream.ts'
import { anthropicAt, priced } from './messages/clients.ts'
import { statusOf } from './round-trips.ts'

// Searches of the web that a request only offers, for models of three providers: two have no price for them.

const searchPrice = { ...priced, searchNano: 10_000_000, maxSearches: 3 }

async function start (t: Test, requests: Partial<RequestsConfig> = {}) {
  const upstream = await startUpstream()
  const claude = await startAnthropic()
  t.teardown(async () => await Promise.all([upstream.close(), claude.close()]))
  upstream.always(reply())
  const providers = [
    providerAt(upstream.url, { id: 'openai', dialect: 'openai' }),
    providerAt(new URL(claude.url).origin, { id: 'claude', protocol: 'anthropic', apiKey: 'sk-ant-secret' })
  ]
  const [openai = providerAt(upstream.url), anthropic = openai] = providers
  const modelOf = (provider: typeof openai, id: string, name: string, price: ModelConfig['price']) => configFor(provider, {
    id, price, deployments: [{ provider: provider.id, model: name, weight: 1, priority: 0 }]
  }).models
  const config = configFor(openai)
  const gateway = await startGateway(t, {
    config: {
      ...config,
      providers,
      requests: { ...config.requests, ...requests },
      models: [
        ...modelOf(openai, 'plain', 'gpt-5-mini', priced),
        ...modelOf(openai, 'searching', 'gpt-5-nano', searchPrice),
        ...modelOf(anthropic, 'claude', 'claude-sonnet-4-5', priced)
      ],
      policies: ['auto', 'auto:cost'].map(id => ({
        id, models: ['plain', 'searching', 'claude'], costWeight: 1, latencyWeight: 0, ceilingNano: null
      }))
    }
  })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  return { upstream, claude, client, anthropic: anthropicAt(gateway) }
}

const messages = [{ role: 'user' as const, content: 'Hi' }]
const asked = { messages, web_search_options: {}, max_tokens: 100 }

t.test('a chat is served without a search that has no price or that the provider lacks', async t => {
  const { client, upstream } = await start(t)
  for (const model of ['plain', 'claude']) {
    for (const stream of [false, true]) {
      const { response } = await client.chat.completions.create({ model, ...asked, stream }).withResponse()
      t.equal(response.headers.get('x-tollgate-dropped-params'), 'web_search_options', model)
      await response.body?.cancel().catch(() => {})
    }
  }
  t.notOk(upstream.requests.some(({ body }) => Object(body).web_search_options !== undefined))
})

t.test('a search with a price is passed on', async t => {
  const { client, upstream } = await start(t)
  const { response } = await client.chat.completions.create({ model: 'searching', ...asked }).withResponse()
  t.equal(response.headers.get('x-tollgate-dropped-params'), null)
  t.match(upstream.requests.at(-1)?.body, { web_search_options: {} })
})

const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }]

t.test('an operator can have such requests refused', async t => {
  const { client, anthropic } = await start(t, { strictTools: true })
  for (const model of ['plain', 'claude']) {
    t.equal(await statusOf(client.chat.completions.create({ model, ...asked })), 400, `chat: ${model}`)
    t.equal(await statusOf(anthropic.messages.create({ model, max_tokens: 100, messages, tools })), 400, `messages: ${model}`)
    t.equal(await statusOf(client.responses.create({ model, input: 'Hi', tools: [{ type: 'web_search' }] })), 400, `responses: ${model}`)
  }
  t.equal((await client.chat.completions.create({ model: 'searching', ...asked })).object, 'chat.completion')
})

t.test('a policy prefers a model that can search, and uses another one if it fails', async t => {
  const { client, upstream } = await start(t)
  const ask = async () => await client.chat.completions.create({ model: 'auto:cost', ...asked }).withResponse()
  const first = await ask()
  t.equal(first.response.headers.get('x-tollgate-model'), 'searching')
  t.equal(first.response.headers.get('x-tollgate-dropped-params'), null)
  await upstream.close()
  const other = await ask()
  t.equal(other.response.headers.get('x-tollgate-model'), 'claude')
  t.equal(other.response.headers.get('x-tollgate-dropped-params'), 'web_search_options')
})
