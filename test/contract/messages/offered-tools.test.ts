import type Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { statusOf } from '../round-trips.ts'
import type { Upstream } from '../../servers/upstream.ts'
import { priced, startClaudePair, startOpenAIPair } from './clients.ts'

type Params = Anthropic.MessageCreateParamsNonStreaming

const user = { role: 'user' as const, content: 'Hi' }
const f = { name: 'f', input_schema: { type: 'object' as const, properties: {} } }
const search = { type: 'web_search_20250305' as const, name: 'web_search' as const }
const bash = { type: 'bash_20250124' as const, name: 'bash' as const }
const fetcher = { type: 'web_fetch_20250910' as const, name: 'web_fetch' as const }
const code = { type: 'code_execution_20250825' as const, name: 'code_execution' as const }
const edit = { type: 'text_editor_20250728' as const, name: 'str_replace_based_edit_tool' as const }
const searchPrice = { ...priced, searchNano: 10_000_000, maxSearches: 3 }
const base = { model: 'chat', max_tokens: 100, messages: [user] }

/** The SDK declares these tools among those of its beta, which goes to the same address. */
const offering = (...tools: object[]): Params => ({ ...base, tools: tools as never })
const bodyOf = ({ requests }: Upstream) => ({ ...requests.at(-1)?.body })
const namesOf = (...tools: { type: string }[]) => tools.map(({ type }) => `tools[${type}]`).join(', ')
const droppedOf = ({ headers }: Response) => headers.get('x-tollgate-dropped-params')

t.test('a chat model gets the tools of the client, and the header names those of Anthropic', async t => {
  const { client, server } = await startOpenAIPair(t)
  const request = offering(search, bash, fetcher, code, edit, f)
  const { response } = await client.messages.create(request).withResponse()
  t.equal(droppedOf(response), namesOf(search, bash, fetcher, code, edit))
  t.match(bodyOf(server), { tools: [{ function: { name: 'f' } }] })
  const alone = await client.messages.create({ ...offering(search), tool_choice: { type: 'auto' } }).withResponse()
  t.equal(droppedOf(alone.response), 'tools[web_search_20250305]')
  t.notOk('tools' in bodyOf(server))
  const stream = await client.messages.create({ ...offering(bash, f), stream: true }).withResponse()
  for await (const { type } of stream.data) t.not(type, 'error')
  t.equal(droppedOf(stream.response), 'tools[bash_20250124]')
})

t.test('Claude gets the tools that have a price', async t => {
  const { client, server } = await startClaudePair(t)
  const { response } = await client.messages.create(offering(search, bash, fetcher, code, f)).withResponse()
  t.equal(droppedOf(response), namesOf(search, fetcher, code))
  t.strictSame(Reflect.get(bodyOf(server), 'tools'), [bash, f])
  await client.messages.create({ ...offering(search), tool_choice: { type: 'auto' } })
  t.notOk('tools' in bodyOf(server) || 'tool_choice' in bodyOf(server))
})

t.test('a search with a price is offered to Claude', async t => {
  const { client, server } = await startClaudePair(t, { price: searchPrice })
  const { response } = await client.messages.create(offering(search, f)).withResponse()
  t.equal(droppedOf(response), null)
  t.match(bodyOf(server), { tools: [{ ...search, max_uses: 3 }, f] })
})

const called = (name: string): Anthropic.MessageParam[] => [
  user,
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name, input: { command: 'ls' } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a.txt' }] }
]

for (const [name, start] of Object.entries({ chat: startOpenAIPair, Claude: startClaudePair })) {
  t.test(`a tool that is demanded of a model of ${name} is refused where it cannot run`, async t => {
    const { client, server } = await start(t)
    const demands: Params[] = [
      { ...offering(search, f), tool_choice: { type: 'tool', name: 'web_search' } },
      { ...offering(search), tool_choice: { type: 'any' } },
      { ...offering(fetcher, f), tool_choice: { type: 'tool', name: 'web_fetch' } },
      { ...offering(code, f), messages: called('code_execution') },
      ...name === 'chat' ? [{ ...offering(bash, f), messages: called('bash') }] : []
    ]
    for (const demand of demands) {
      t.equal(await statusOf(client.messages.create(demand)), 400, JSON.stringify(demand))
    }
    t.equal(server.requests.length, 0)
  })
}
