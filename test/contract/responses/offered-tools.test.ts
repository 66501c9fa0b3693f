import t from 'tap'
import { statusOf } from '../round-trips.ts'
import { message, answer, search } from '../../servers/responses.ts'
import { lastBody, openShop, pathsOf, price } from './native-shop.ts'

const f = { type: 'function' as const, name: 'f', parameters: { type: 'object', properties: {} }, strict: false }
const webSearch = { type: 'web_search' as const }
const droppedOf = ({ headers }: Response) => headers.get('x-tollgate-dropped-params')

for (const dialect of ['openai', 'compatible']) {
  t.test(`${dialect}: a search that is only offered is left out, and the header names it`, async t => {
    const shop = await openShop(t, { provider: { dialect } })
    for (const choice of [undefined, 'auto', 'none'] as const) {
      const { response } = await shop.client.responses.create(
        { model: 'chat', input: 'hi', tools: [webSearch, f], ...(choice === undefined ? {} : { tool_choice: choice }) }
      ).withResponse()
      t.equal(droppedOf(response), 'tools[web_search]')
      t.notMatch(JSON.stringify(lastBody(shop)), 'web_search')
      t.match(lastBody(shop).tools, [{ type: 'function' }], 'the function stays')
    }
    const alone = await shop.client.responses.create({ model: 'chat', input: 'hi', tools: [webSearch] }).withResponse()
    t.equal(droppedOf(alone.response), 'tools[web_search]')
    t.notOk('tools' in lastBody(shop))
    const stream = await shop.client.responses.create(
      { model: 'chat', input: 'hi', stream: true, tools: [webSearch, f] }).withResponse()
    for await (const { type } of stream.data) t.notMatch(type, 'error')
    t.equal(droppedOf(stream.response), 'tools[web_search]')
  })

  t.test(`${dialect}: a search that is demanded is refused`, async t => {
    const shop = await openShop(t, { provider: { dialect } })
    const demands = [
      { tool_choice: { type: 'web_search_preview' as const } },
      { tool_choice: 'required' as const },
      { input: [{ role: 'user' as const, content: 'hi' }, search() as never] },
      { tool_choice: { type: 'allowed_tools' as const, mode: 'auto' as const, tools: [{ type: 'web_search' }] } }
    ]
    for (const demand of demands) {
      const failed = shop.client.responses.create({ model: 'chat', input: 'hi', tools: [webSearch], ...demand })
      t.equal(await statusOf(failed), 400, JSON.stringify(demand))
    }
    t.equal(shop.upstream.requests.length, 0)
  })
}

t.test('a search with a price is offered to the provider, beside a tool that is left out', async t => {
  const shop = await openShop(t, { model: { price: { ...price, searchNano: 1_000_000 } } })
  shop.upstream.script(answer({ output: [search(), message('Hi')] }))
  const tools = [webSearch, { type: 'code_interpreter' as const, container: { type: 'auto' as const } }]
  const { response } = await shop.client.responses.create({ model: 'chat', input: 'hi', tools }).withResponse()
  t.equal(droppedOf(response), 'tools[code_interpreter]')
  t.match(lastBody(shop), { tools: [{ type: 'web_search' }], max_tool_calls: 1 })
})

t.test('the request of Codex for OpenAI\'s newest models is served by a chat model', async t => {
  const shop = await openShop(t, { provider: { dialect: 'compatible' } })
  const shell = { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} }, strict: false }
  const added = {
    type: 'additional_tools',
    role: 'developer',
    tools: [{ type: 'namespace', name: 'codex', description: '', tools: [{ type: 'custom', name: 'exec' }] }, shell, webSearch]
  }
  const { response } = await shop.client.responses.create({
    model: 'chat',
    input: [added as never, { role: 'user', content: 'hi' }],
    tools: [],
    reasoning: { effort: 'low', context: 'all_turns' } as never,
    store: false
  }).withResponse()
  t.equal(droppedOf(response), 'tools[web_search], reasoning.context')
  t.match(pathsOf(shop), ['/v1/chat/completions'])
  t.match(lastBody(shop), {
    messages: [{ role: 'user', content: 'hi' }],
    tools: [{ function: { name: 'codex__exec' } }, { function: { name: 'shell' } }]
  })
})
