import t from 'tap'
import { rejection } from '../../helpers/thrown.ts'
import { answer, message, search } from '../../servers/responses.ts'
import { bodiesOf, bookedBy, openShop, pathsOf, price } from './native-shop.ts'

// How providers differ whose Responses API gets requests as they came.

/** Longer than the usage that the provider reports, which the hold must cover. */
const input = 'word '.repeat(400)
/** 800 tokens of plain input, 200 of cached, 100 of output. */
const usualNano = 800 * 1000 + 200 * 100 + 100 * 10_000

// Source: learn.microsoft.com, "Azure OpenAI in Microsoft Foundry Models v1 API", November 2026.
t.test('Azure is called at its v1 API, with its header and the name of the deployment', async t => {
  const shop = await openShop(t, {
    provider: { dialect: 'azure' },
    config: (config, { url }) => {
      const baseUrl = `${new URL(url).origin}/openai/v1`
      return { ...config, providers: config.providers.map(provider => ({ ...provider, baseUrl })) }
    }
  })
  shop.upstream.script(answer())
  const response = await shop.client.responses.create({ model: 'chat', input })
  t.equal(response.output_text, 'Good day.')
  t.strictSame(pathsOf(shop), ['/openai/v1/responses?api-version=v1'])
  const [request] = shop.upstream.requests
  t.match(request?.headers, { 'api-key': 'sk-upstream-secret', authorization: undefined })
  t.match(request?.body, { model: 'gpt-5-nano', store: false })
})

t.test('xAI limits no searches, so the operator has to allow them; calls are charged, sources are not', async t => {
  const model = { price: { ...price, searchNano: 5_000_000, maxSearches: 3 } }
  const ask = { model: 'chat', input, tools: [{ type: 'web_search' as const }] }
  const careful = await openShop(t, { provider: { dialect: 'xai' }, model })
  t.match(await rejection(careful.client.responses.create({ ...ask, tool_choice: 'required' })), { status: 400, param: 'tools[0].type' })
  const bold = await openShop(t, { provider: { dialect: 'xai', allowFields: ['web_search'] }, model })
  const calls = { web_search_calls: 2, x_search_calls: 0 }
  const usage = { num_sources_used: 40, server_side_tool_usage_details: calls }
  bold.upstream.script(answer({ output: [search(), message('News.')], usage }))
  await bold.client.responses.create(ask)
  t.match(await bookedBy(bold), [{ amount: usualNano + 2 * 5_000_000, estimated: 0, usage: { searches: 2 } }])
  const posts = { ...ask, tools: [{ type: 'x_search' }] as never }
  t.match(await rejection(bold.client.responses.create(posts)), { status: 400, param: 'tools[0].type' })
  t.equal(bodiesOf(bold).length, 1)
})
