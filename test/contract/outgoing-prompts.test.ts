import { request } from 'undici'
import t from 'tap'
import { dialects } from '../../services/providers/openai/dialects.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { refusal, reply, startUpstream, type UpstreamRequest } from '../servers/upstream.ts'

// What providers refuse of messages and tools, in the words of public reports: a request that they would
// refuse is changed before it is sent.

interface Message { role: string, content?: unknown, tool_calls?: { id: string }[], tool_call_id?: string }
type Rule = (body: { messages: Message[], tools?: { function: { parameters?: object } }[] }) => string | null

const oneSystemFirst: Rule = ({ messages }) => messages.some(({ role }, at) => at > 0 && role === 'system')
  ? 'System message must be at the beginning.'
  : null

const alternating: Rule = ({ messages }) =>
  messages.some(({ role }, at) => role === 'user' && messages[at + 1]?.role === 'user')
    ? 'Conversation roles must alternate user/assistant/user/assistant/...'
    : null

const noDeveloper: Rule = ({ messages }) => messages.some(({ role }) => role === 'developer')
  ? 'developer is not one of [\'system\', \'assistant\', \'user\', \'tool\', \'function\']'
  : null

const ids = ({ messages }: Parameters<Rule>[0]) => messages.flatMap(
  ({ tool_calls: calls = [], tool_call_id: id }) => [calls.map(call => call.id), id ?? []].flat(2))

const nineLetters: Rule = body => {
  const bad = ids(body).find(id => !/^[a-zA-Z0-9]{9}$/.test(id))
  return bad === undefined ? null : `Tool call id was ${bad} but must be a-z, A-Z, 0-9, with a length of 9.`
}

const forty: Rule = body => ids(body).some(id => id.length > 40)
  ? 'Invalid \'messages[2].tool_calls[0].id\': string too long. Expected a string with maximum length 40.'
  : null

const lacksParameters = ({ function: { parameters = {} } }: { function: { parameters?: object } }): boolean =>
  Object.keys(parameters).length === 0

const withParameters: Rule = ({ tools = [] }) => tools.some(lacksParameters)
  ? 'Failed to deserialize the JSON body into the target type: tools[0].function: missing field `parameters`'
  : null

const someTools: Rule = ({ tools }) => tools?.length === 0 ? 'tools must not be an empty array' : null

const noEmptyText: Rule = ({ messages }) => messages.some(({ content }) => content === '')
  ? 'content: String should have at least 1 character'
  : null

const templates = [oneSystemFirst, alternating, noDeveloper, someTools]
const rules: Record<string, Rule[]> = {
  compatible: [...templates, withParameters],
  vllm: templates,
  sglang: templates,
  llamacpp: templates,
  lmstudio: templates,
  ollama: templates,
  huggingface: templates,
  nvidia: [...templates, noEmptyText],
  groq: [noDeveloper, someTools],
  gemini: [noDeveloper, someTools],
  xai: [noDeveloper, withParameters, someTools],
  deepseek: [noDeveloper, withParameters, someTools],
  moonshot: [noDeveloper, someTools],
  openrouter: [noDeveloper, someTools],
  mistral: [noDeveloper, nineLetters, someTools],
  openai: [forty, someTools],
  azure: [forty, someTools]
}

const upstream = await startUpstream()
t.teardown(() => upstream.close())
upstream.always(exchange => {
  const { model } = exchange.request.body ?? {}
  const body = bodyOf(exchange.request)
  const why = (rules[String(model)] ?? []).map(rule => rule(body)).find(reason => reason !== null)
  return (why === undefined ? reply() : refusal(400, { message: why ?? '', code: null }))(exchange)
})

/** The rules read members of whatever was sent. */
function bodyOf ({ body }: UpstreamRequest): Parameters<Rule>[0] {
  return JSON.parse(JSON.stringify(body))
}

const providers = Object.keys(rules).map(dialect => providerAt(upstream.url, { id: dialect, dialect }))
const gateway = await startGateway(t, {
  config: {
    ...configFor(providerAt(upstream.url)),
    providers,
    models: providers.flatMap(provider => configFor(provider, {
      id: provider.id, deployments: [{ provider: provider.id, model: provider.id, weight: 1, priority: 0 }]
    }).models)
  }
})

async function sent (model: string, body: object) {
  const response = await request(`${gateway.url}/chat/completions`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model, ...body })
  })
  const text = await response.body.text()
  return { status: response.statusCode, text, body: bodyOf(upstream.requests.at(-1)!) }
}

const user = { role: 'user', content: 'Hi' }
const system = { role: 'system', content: 'Be brief.' }
const developer = { role: 'developer', content: 'Use metres.' }
const said = { role: 'assistant', content: 'Hello' }

const conversations: Record<string, object[]> = {
  'two system messages': [system, system, user],
  'a system and a developer message': [system, developer, user],
  'a system message later': [system, user, said, system, user],
  'a system message after the user': [user, system, said, user],
  'a system message in parts': [{ ...system, content: [{ type: 'text', text: 'Be brief.' }] }, developer, user]
}

for (const [name, messages] of Object.entries(conversations)) {
  t.test(`${name} reaches every provider`, async t => {
    for (const dialect of Object.keys(rules)) {
      const { status, text } = await sent(dialect, { messages })
      t.equal(status, 200, status === 200 ? dialect : `${dialect}: ${text}`)
    }
  })
}

t.test('instructions keep their text, and the providers that can tell them apart get them apart', async t => {
  const { body } = await sent('vllm', { messages: [system, developer, user, said, system, user] })
  t.same(body.messages, [
    { role: 'system', content: 'Be brief.\n\nUse metres.' },
    user,
    said,
    { role: 'user', content: '<system>\nBe brief.\n</system>\n\nHi' }
  ])
  const apart = [developer, system, user, said, system, user]
  t.same((await sent('openai', { messages: apart })).body.messages, apart)
})

t.test('models of OpenAI at OpenRouter get developer messages', async t => {
  const prompt = dialects.openrouter?.rules.models.find(({ models }) => models.test('openai/gpt-5.6'))
  t.same(prompt?.roles, {})
})

for (const id of ['call_PTLP8xhu3uwZk4l3nlnrrJha', 'x'.repeat(66), 'functions.get_weather:0']) {
  t.test(`the tool call id ${id} fits everywhere, and its result has the same`, async t => {
    const call = { id, type: 'function', function: { name: 'f', arguments: '{}' } }
    const messages = [
      user, { role: 'assistant', content: '', tool_calls: [call] }, { role: 'tool', tool_call_id: id, content: '1' }
    ]
    for (const dialect of Object.keys(rules)) {
      const { status, text, body } = await sent(dialect, { messages })
      t.equal(status, 200, status === 200 ? dialect : `${dialect}: ${text}`)
      const [first, second] = ids(body)
      t.equal(first, second, dialect)
      t.same(ids((await sent(dialect, { messages })).body), ids(body), 'the same in the next request')
    }
  })
}

t.test('functions without parameters and empty lists of tools are taken everywhere', async t => {
  const bare = { type: 'function', function: { name: 'f' } }
  const empty = { type: 'function', function: { name: 'g', parameters: {} } }
  for (const dialect of Object.keys(rules)) {
    const { status, text } = await sent(dialect, { messages: [user], tools: [bare, empty] })
    t.equal(status, 200, status === 200 ? dialect : `${dialect}: ${text}`)
    const none = await sent(dialect, { messages: [user], tools: [], tool_choice: 'auto', parallel_tool_calls: true })
    t.equal(none.status, 200, dialect)
    t.same(Object.keys(none.body), ['model', 'messages'], dialect)
  }
})

t.test('half of a surrogate pair becomes U+FFFD, and whole pairs stay', async t => {
  const cut = '{"model":"openai","messages":[{"role":"user","content":"cut \\ud83d"}],"user":"\\uDE00 \\ud83d\\ude00"}'
  const response = await request(`${gateway.url}/chat/completions`, { method: 'POST', headers: gateway.headers, body: cut })
  await response.body.dump()
  const { bytes, body } = upstream.requests.at(-1)!
  t.match(body, { messages: [{ role: 'user', content: 'cut \ufffd' }], user: '\ufffd \u{1f600}' })
  t.notMatch(bytes.toString(), /\\ud8/i, 'no escape of a half is left')
})
