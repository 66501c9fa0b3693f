import OpenAI from 'openai'
import t from 'tap'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { reply, startUpstream } from '../../servers/upstream.ts'
import { gatherResponse } from './responses-client.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url)) })
const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
const model = 'chat'
const lastBody = () => Object(upstream.requests.at(-1)?.body)
const lastTools = () => lastBody().tools?.map((tool: { function: { name: string } }) => tool.function.name)

const parameters = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }
const search = { type: 'tool_search' as const, execution: 'client' as const, description: 'Finds tools.', parameters }
const named = (name: string, more: object = {}) => ({
  type: 'function' as const, name, parameters: { type: 'object', properties: {} }, strict: false, ...more
})
const mail = {
  type: 'namespace' as const, name: 'mail', description: 'Mail', tools: [named('send', { defer_loading: true })]
}

t.test('a search among tools that the client runs is a call, and what it finds can be called', async t => {
  for (const stream of [false, true]) {
    const ask = async (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) => {
      return stream ? await gatherResponse(client, body) : await client.responses.create(body)
    }
    const tools = [named('look'), named('hidden', { defer_loading: true }), search]
    upstream.script(reply({ tools: [{ name: 'tool_search', arguments: '{"query":"mail"}' }] }))
    const first = await ask({ model, input: 'Send it', tools })
    t.match(lastBody().tools, [{}, { function: { name: 'tool_search', description: 'Finds tools.', parameters } }])
    t.same(lastTools(), ['look', 'tool_search'], 'a deferred one has to be found')
    const [call] = first.output
    t.match(call, {
      type: 'tool_search_call', id: /^tsc_/, call_id: /^call_/, execution: 'client', status: 'completed', arguments: { query: 'mail' }
    })
    if (call?.type !== 'tool_search_call') throw new Error('no search')

    const output = { type: 'tool_search_output' as const, call_id: call.call_id, execution: 'client' as const, tools: [mail] }
    upstream.script(reply({ tools: [{ name: 'mail__send', arguments: '{}' }] }))
    const second = await ask({ model, input: [{ role: 'user', content: 'Send it' }, { ...call }, output], tools, store: true })
    t.same(lastTools(), ['look', 'tool_search', 'mail__send'])
    t.match(lastBody().messages, [
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: call.call_id, function: { name: 'tool_search', arguments: '{"query":"mail"}' } }] },
      { role: 'tool', tool_call_id: call.call_id, content: /mail__send/ }
    ])
    t.match(second.output, [{ type: 'function_call', namespace: 'mail', name: 'send' }])

    // Found tools stay for the rest of the conversation.
    const sent = second.output.find(item => item.type === 'function_call')
    const result = { type: 'function_call_output' as const, call_id: sent?.call_id ?? '', output: 'sent' }
    await ask({ model, previous_response_id: second.id, input: [result], tools })
    t.same(lastTools(), ['look', 'tool_search', 'mail__send'])
    await ask({ model, input: 'x', tools, tool_choice: { type: 'tool_search' } as never })
    t.match(lastBody().tool_choice, { type: 'function', function: { name: 'tool_search' } })
  }
})

t.test('a search that finds nothing, and one whose tools are declared too', async t => {
  const call = { type: 'tool_search_call' as const, call_id: 'c1', execution: 'client' as const, arguments: { query: 'x' } }
  const found = (tools: (typeof mail | ReturnType<typeof named>)[]) => ({
    type: 'tool_search_output' as const, call_id: 'c1', execution: 'client' as const, tools
  })
  await client.responses.create({ model, input: [{ role: 'user', content: 'x' }, call, found([])], tools: [search] })
  t.match(lastBody().messages.at(-1), { role: 'tool', content: 'No tools were found.' })
  const input = [{ role: 'user' as const, content: 'x' }, call, found([named('look')])]
  await client.responses.create({ model, input, tools: [named('look'), search] })
  t.same(lastTools(), ['look', 'tool_search'])
})

t.test('searches that the provider runs are refused by name where a request demands them', async t => {
  const hosted = { type: 'tool_search_call' as const, call_id: null, execution: 'server' as const, arguments: {} }
  const cases = [
    [{ tools: [{ ...search, execution: 'server' }], tool_choice: 'required' }, 'tools[0].type'],
    [{ tools: [search, { type: 'web_search' }], tool_choice: { type: 'web_search_preview' } }, 'tools[1].type'],
    [{ input: [{ role: 'user', content: 'x' }, hosted] }, 'input[1].type'],
    [{ input: [{ type: 'tool_search_output', call_id: 'c', tools: [{ type: 'web_search' }] }] }, 'input[0].type']
  ] as const
  for (const [more, param] of cases) {
    await t.rejects(client.responses.create({ model, input: 'x', ...more } as never), { status: 400, param, code: 'unsupported_parameter' })
  }
})
