import t from 'tap'
import { request } from 'undici'
import { statusOf } from '../round-trips.ts'
import { rejection } from '../../helpers/thrown.ts'
import { providerAt } from '../../helpers/gateway.ts'
import { halfClose, reply } from '../../servers/upstream.ts'
import { answer, message, reasoning, refusal, search } from '../../servers/responses.ts'
import { bodiesOf, bookedBy, lastBody, openShop, pathsOf, price } from './native-shop.ts'
import { gatherResponse } from './responses-client.ts'

// A provider that has the Responses API gets requests as they came, and its answers pass.

const model = 'chat'
/** Longer than the usage that the provider reports, which the hold must cover. */
const long = 'word '.repeat(400)
const ours = /^resp_[0-9a-f]{48}$/
/** 800 tokens of plain input, 200 of cached, 100 of output. */
const usualNano = 800 * 1000 + 200 * 100 + 100 * 10_000

for (const isStream of [false, true]) {
  const how = isStream ? 'streamed' : 'whole'

  t.test(`a request passes as it came, and the answer comes back, ${how}`, async t => {
    const shop = await openShop(t)
    const { client, upstream } = shop
    const body = {
      model,
      instructions: 'Be brief.',
      input: long,
      max_output_tokens: 200,
      reasoning: { effort: 'low' as const, summary: 'auto' as const },
      text: { verbosity: 'low' as const },
      truncation: 'auto' as const,
      metadata: { ticket: '7' },
      prompt_cache_key: 'thread-1'
    }
    upstream.script(answer({ output: [reasoning('gAAAA'), message('Good day.')] }))
    const response = isStream ? await gatherResponse(client, body) : await client.responses.create(body)
    t.same(lastBody(shop), {
      ...body, ...(isStream ? { stream: true } : {}), model: 'gpt-5-nano', store: false, include: ['reasoning.encrypted_content']
    })
    t.same(pathsOf(shop), ['/v1/responses'])
    t.match(response, {
      id: ours,
      status: 'completed',
      model: 'gpt-5-nano-2026-08-07',
      output_text: 'Good day.',
      output: [{ type: 'reasoning', id: 'rs_up1', encrypted_content: 'tollgate:up:gAAAA' }, { type: 'message', id: 'msg_up1' }],
      previous_response_id: null,
      max_output_tokens: 200,
      metadata: { ticket: '7' },
      store: true,
      usage: { input_tokens: 1000, output_tokens: 100, total_tokens: 1100, cost: usualNano / 1e9 }
    })
    const counts = { prompt: 1000, completion: 100, cachedRead: 200, cacheWrite: 0, reasoning: 40 }
    t.match(await bookedBy(shop), [{ amount: usualNano, estimated: 0, usage: counts }])
    t.match(await client.responses.retrieve(response.id), { id: response.id, model: 'gpt-5-nano-2026-08-07', output_text: 'Good day.' })
  })

  t.test(`a stored conversation goes on there, with its reasoning, ${how}`, async t => {
    const shop = await openShop(t)
    const { client, upstream } = shop
    const ask = (body: Parameters<typeof gatherResponse>[1]) =>
      isStream ? gatherResponse(client, body) : client.responses.create(body)
    upstream.script(answer({ output: [reasoning('gAAAA'), message('One.')] }))
    const first = await ask({ model, input: 'First' })
    const second = await ask({ model, input: [{ role: 'user', content: 'Second' }], previous_response_id: first.id })
    t.match(second, { id: ours, previous_response_id: first.id, store: true })
    const { input, previous_response_id: previous, store } = lastBody(shop)
    t.match({ previous, store }, { previous: undefined, store: false })
    t.match(input, [
      { role: 'user', content: [{ type: 'input_text', text: 'First' }] },
      { type: 'reasoning', encrypted_content: 'gAAAA' },
      { type: 'message', role: 'assistant', content: [{ text: 'One.' }] },
      { role: 'user', content: 'Second' }
    ])
    await ask({ model, store: false, input: [{ type: 'item_reference', id: 'msg_up1' }, { role: 'user', content: 'Third' }] })
    t.match(lastBody(shop), { input: [{ type: 'message', content: [{ text: 'One.' }] }, { content: 'Third' }] })
    t.notOk('include' in lastBody(shop), 'what is not stored needs no reasoning')
  })

  t.test(`a failure before the first byte goes to a provider that is asked for a chat, ${how}`, async t => {
    const shop = await openShop(t, {
      config: (config, { url }) => ({
        ...config,
        providers: [...config.providers, providerAt(url, { id: 'other' })],
        models: config.models.map(one => ({
          ...one, deployments: [...one.deployments, { provider: 'other', model: 'other-model', weight: 1, priority: 1 }]
        }))
      })
    })
    const { client, upstream } = shop
    const failed = [{ type: 'response.created', response: { id: 'resp_x', output: [] } }, { type: 'response.failed', response: { error: { code: 'server_error', message: 'It broke.' } } }]
    upstream.script(isStream ? answer({}, { events: () => failed }) : refusal(500, { message: 'It broke.' }), reply({ text: 'From chat.' }))
    const body = { model, input: 'Hello' }
    const response = isStream ? await gatherResponse(client, body) : await client.responses.create(body)
    t.equal(response.output_text, 'From chat.')
    t.same(pathsOf(shop), ['/v1/responses', '/v1/chat/completions'])
    t.match(response.id, ours)
    t.equal((await bookedBy(shop)).length, 1)
  })

  t.test(`searches are bounded and charged, ${how}`, async t => {
    const shop = await openShop(t, { model: { price: { ...price, searchNano: 10_000_000, maxSearches: 3 } } })
    const { client, upstream } = shop
    upstream.script(answer({ output: [search(), search('open_page', 'ws_2'), search('search', 'ws_3'), message('News.')] }))
    const body = { model, input: long, tools: [{ type: 'web_search' as const }], max_tool_calls: 8 }
    const response = isStream ? await gatherResponse(client, body) : await client.responses.create(body)
    t.match(lastBody(shop), { max_tool_calls: 3, tools: [{ type: 'web_search' }] })
    t.match(response, { max_tool_calls: 8, output_text: 'News.' })
    const amount = usualNano + 2 * 10_000_000
    t.match(await bookedBy(shop), [{ amount, estimated: 0, usage: { searches: 2 } }])
  })
}

t.test('usage of each kind has its price', async t => {
  const shop = await openShop(t)
  const { client, upstream } = shop
  upstream.script(answer({
    usage: {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 300, cache_write_tokens: 400 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 50 },
      total_tokens: 1050,
      cost: 0.5
    }
  }))
  const { usage } = await client.responses.create({ model, input: long })
  const nano = 300 * 1000 + 300 * 100 + 400 * 1250 + 50 * 10_000
  t.match(usage, { cost: nano / 1e9 }, 'what the provider says of its own cost is not passed on')
  const counts = { prompt: 1000, cachedRead: 300, cacheWrite: 400, completion: 50, reasoning: 50 }
  t.match(await bookedBy(shop), [{ amount: nano, usage: counts }])
})

t.test('without a limit of the client, the provider gets that of the hold', async t => {
  const shop = await openShop(t, { model: { maxOutput: 1000 } })
  const response = await shop.client.responses.create({ model, input: 'x' })
  const sent = Number(lastBody(shop).max_output_tokens)
  t.ok(sent >= 16 && sent <= 1000, String(sent))
  t.equal(response.max_output_tokens, null)
  await shop.client.responses.create({ model, input: 'x', max_output_tokens: 5000 })
  t.equal(lastBody(shop).max_output_tokens, 1000)
})

t.test('a limit that the client did not set is left out where the provider refuses it', async t => {
  const shop = await openShop(t, { model: { maxOutput: 1000 } })
  shop.upstream.script(refusal(400, { message: 'max_output_tokens is too large. This model\'s context length is 900.' }))
  const response = await shop.client.responses.create({ model, input: 'x' })
  t.equal(response.status, 'completed')
  t.equal(lastBody(shop).max_output_tokens, undefined)
})

t.test('a stream that breaks ends with response.failed, and what was delivered is charged', async t => {
  const shop = await openShop(t)
  const { gateway, upstream } = shop
  upstream.script(answer({ output: [message('one two three four')] }, { events: list => list.slice(0, 7), end: halfClose }))
  const response = await fetch(`${gateway.url}/responses`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model, input: 'x', stream: true, max_output_tokens: 100 })
  })
  const text = await response.text()
  t.match(text, 'three')
  const last: unknown = JSON.parse(/event: response\.failed\ndata: (.*)/.exec(text)?.[1] ?? '')
  t.match(last, { sequence_number: 7, response: { id: ours, status: 'failed', error: { code: 'server_error' } } })
  const [booked] = await bookedBy(shop)
  t.ok(booked !== undefined && booked.amount >= 30_000 && booked.estimated === 1, JSON.stringify(booked))
})

t.test('tools that a request demands of the provider need a price or the operator\'s permission', async t => {
  const { client, upstream } = await openShop(t)
  const refused = async (tools: object[], param: string, code = 'unsupported_parameter') => {
    const asked = client.responses.create({ model, input: 'x', tools: tools as never, tool_choice: 'required' })
    t.match(await rejection(asked), { status: 400, param, code }, JSON.stringify(tools))
  }
  await refused([{ type: 'web_search' }], 'tools[0].type', 'parameter_not_priced')
  await refused([{ type: 'web_search_preview_2025_03_11' }], 'tools[0].type', 'parameter_not_priced')
  await refused([{ type: 'code_interpreter', container: { type: 'auto' } }], 'tools[0].type')
  await refused([{ type: 'file_search', vector_store_ids: ['vs_1'] }], 'tools[0].type')
  await refused([{ type: 'mcp', server_label: 'x', server_url: 'https://example.com' }], 'tools[0].type')
  await refused([{ type: 'apply_patch' }, { type: 'image_generation' }], 'tools[1].type')
  await refused([{ type: 'shell', environment: { type: 'container_auto' } }], 'tools[0].type')
  const smuggled = client.responses.create({ model, input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'code_interpreter', container: 'c' }] }] as never })
  t.match(await rejection(smuggled), { status: 400, param: 'input[0].tools[0].type' })
  t.match(await rejection(client.responses.create({ model, input: 'x', background: true })), { status: 400, param: 'background' })
  const file = client.responses.create({ model, input: [{ type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', file_id: 'file_1' } }] })
  t.match(await rejection(file), { status: 400, param: 'input[0].output.file_id' })
  t.equal(upstream.requests.length, 0)
  await client.responses.create({ model, input: 'x', tools: [{ type: 'apply_patch' }, { type: 'shell', environment: { type: 'local' } }] })
  t.equal(upstream.requests.length, 1, 'the client runs these')

  const open = await openShop(t, { provider: { allowFields: ['code_interpreter'] } })
  await open.client.responses.create({ model, input: 'x', tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] })
  t.match(lastBody(open), { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] })

  const priced = await openShop(t, { model: { price: { ...price, searchNano: 1 } } })
  t.match(await rejection(priced.client.responses.create({ model, input: 'x', tool_choice: 'required', tools: [{ type: 'web_search', max_results: 100 }] as never })),
    { status: 400, param: 'tools[0].max_results' })
})

t.test('models without reasoning are not asked for it again', async t => {
  const shop = await openShop(t)
  const noReasoning = refusal(400, { message: 'Encrypted content is not supported with this model.', param: 'include' })
  shop.upstream.script(noReasoning)
  await shop.client.responses.create({ model, input: 'x' })
  await shop.client.responses.create({ model, input: 'x' })
  t.same(bodiesOf(shop).map(body => 'include' in body), [true, false, false])
  shop.upstream.script(noReasoning)
  t.equal(await statusOf(shop.client.responses.create({ model, input: 'x', include: ['reasoning.encrypted_content'] })), 400, 'the client\'s own wish')
})

t.test('an item whose id a refusal quotes does not turn the reasoning of others off', async t => {
  const shop = await openShop(t)
  const forged = reasoning('gXXXX', 'rs_invalid') as never
  const quoted = refusal(400, {
    message: 'The encrypted content for item rs_invalid could not be verified.', code: 'invalid_encrypted_content'
  })
  shop.upstream.script(quoted, quoted)
  t.equal(await statusOf(shop.client.responses.create({ model, input: [forged, { role: 'user', content: 'x' }] })), 400)
  await shop.client.responses.create({ model, input: 'x' })
  t.match(lastBody(shop), { include: ['reasoning.encrypted_content'] })
})

t.test('reasoning goes only to the provider that has encrypted it', async t => {
  const shop = await openShop(t)
  const { client } = shop
  await client.responses.create({
    model,
    store: false,
    input: [
      { role: 'user', content: 'x' },
      reasoning('tollgate:other:gBBBB') as never, reasoning('tollgate:up:gAAAA') as never, reasoning(null) as never, reasoning('raw') as never,
      { role: 'user', content: 'y' }
    ]
  })
  t.match(lastBody(shop), { input: [{ content: 'x' }, { encrypted_content: 'gAAAA' }, { encrypted_content: 'raw' }, { content: 'y' }] })
  t.equal((lastBody(shop).input as unknown[]).length, 4)
})

t.test('whatever a provider has encrypted comes back to it as it was', async t => {
  const shop = await openShop(t)
  const { client, upstream } = shop
  const compaction = { type: 'compaction', id: 'cmp_up1', encrypted_content: 'gCCCC' }
  upstream.script(answer({ output: [compaction] }))
  const { id, output } = await client.responses.create({ model, input: [{ role: 'user', content: 'x' }, { type: 'compaction_trigger' } as never] })
  t.match(output, [{ type: 'compaction', encrypted_content: 'tollgate:up:gCCCC' }])
  await client.responses.create({ model, store: false, input: [...output as never[], { role: 'user', content: 'y' }] })
  t.strictSame(Object(lastBody(shop).input)[0], compaction)
  await client.responses.create({ model, previous_response_id: id, input: 'y' })
  t.strictSame(Object(lastBody(shop).input)[2], compaction)
})

t.test('a list of the tools of an MCP server asks for none of them', async t => {
  const shop = await openShop(t, { provider: { allowFields: ['mcp'] } })
  const { client, upstream } = shop
  const tools = [{ type: 'mcp' as const, server_label: 'x', server_url: 'https://example.com' }]
  const list = { type: 'mcp_list_tools', id: 'mcpl_up1', server_label: 'x', tools: [{ name: 'roll', input_schema: { type: 'object' } }] }
  upstream.script(answer({ output: [list, message('Which dice?')] }))
  const { id } = await client.responses.create({ model, input: 'x', tools })
  await client.responses.create({ model, previous_response_id: id, input: 'd6', tools })
  t.match(lastBody(shop), { input: [{ type: 'message' }, list, { type: 'message' }, { content: 'd6' }], tools })
})

t.test('a server without the endpoint is asked for a chat, from then on', async t => {
  const shop = await openShop(t)
  const { client, upstream } = shop
  upstream.script(refusal(404, { message: 'Invalid URL (POST /v1/responses)' }))
  t.equal((await client.responses.create({ model, input: 'x' })).status, 'completed')
  await client.responses.create({ model, input: 'x' })
  t.same(pathsOf(shop), ['/v1/responses', '/v1/chat/completions', '/v1/chat/completions'])
  const restricted = await openShop(t)
  restricted.upstream.script(refusal(401, {
    message: 'You have insufficient permissions for this operation. Missing scopes: api.responses.write. Check that ' +
      'you have the correct role in your organization.'
  }))
  t.equal((await restricted.client.responses.create({ model, input: 'x' })).status, 'completed', 'a key for chat alone')
  t.same(pathsOf(restricted), ['/v1/responses', '/v1/chat/completions'])
  const other = await openShop(t)
  other.upstream.script(refusal(404, { message: 'The model `gpt-5-nano` does not exist', code: 'model_not_found' }))
  t.not(await statusOf(other.client.responses.create({ model, input: 'x' })), 200)
  t.same(pathsOf(other), ['/v1/responses'])
})

t.test('answers come from the cache, whole and streamed', async t => {
  const shop = await openShop(t)
  const { gateway, upstream } = shop
  for (const stream of [false, true]) {
    const before = upstream.requests.length
    const ask = async (more = {}) => {
      const { headers, body } = await request(`${gateway.url}/responses`, {
        method: 'POST',
        headers: { ...gateway.headers, 'x-tollgate-cache': 'on' },
        body: JSON.stringify({ model, input: 'x', temperature: 0, stream, ...more })
      })
      return { cache: headers['x-tollgate-cache'], text: await body.text() }
    }
    const first = await ask()
    const second = await ask()
    t.same([first.cache, second.cache], ['miss', 'hit'])
    const endOf = (text: string): unknown => stream ? JSON.parse(/event: response\.completed\ndata: (.*)/.exec(text)?.[1] ?? '').response : JSON.parse(text)
    t.match(endOf(second.text), { id: ours, status: 'completed', usage: { cost: 0 } })
    t.not(Object(endOf(second.text)).id, Object(endOf(first.text)).id)
    t.equal((await ask({ truncation: 'disabled' })).cache, 'miss', 'another request')
    t.equal(upstream.requests.length, before + 2)
  }
  t.equal((await bookedBy(shop)).length, 4)
})

t.test('responses: off sends requests as chat, although the provider has the Responses API', async t => {
  const shop = await openShop(t, { provider: { responses: 'off' } })
  const { client, upstream } = shop
  upstream.script(reply({ text: 'Good day.' }))
  t.equal((await client.responses.create({ model, input: 'Hi' })).output_text, 'Good day.')
  t.same(pathsOf(shop), ['/v1/chat/completions'])
})
