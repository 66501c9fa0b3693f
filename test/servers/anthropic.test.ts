import Anthropic from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { cuts } from './upstream.ts'
import { errorBody, models, refusal, reply, sign, startAnthropic } from './anthropic.ts'
import type { Reply } from './anthropic.ts'

async function started (t: Test) {
  const server = await startAnthropic()
  t.teardown(() => server.close())
  const client = new Anthropic({ baseURL: new URL(server.url).origin, apiKey: 'sk-ant-secret', maxRetries: 0 })
  return { server, client }
}

const ask = { model: 'claude-sonnet-4-6', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] }

const everything: Reply = {
  said: [
    { thinking: 'Two cities, so two calls.' },
    { redacted: 'EmwKAhgBEgy3va3pzix' },
    { text: ['Grüße', ' 👩‍👩‍👧‍👦', ' I look.'] },
    { tool: 'get_weather', input: { city: 'Zürich', days: [1, 2] } },
    { tool: 'get_time' }
  ],
  usage: { input_tokens: 3, cache_read_input_tokens: 20, cache_creation_input_tokens: 5, output_tokens: 90 }
}

t.test('Anthropic\'s own client reads the same message whole and streamed', async t => {
  const { server, client } = await started(t)
  for (const said of [{}, everything, { stopReason: 'max_tokens' as const }]) {
    server.script(reply(said), reply(said, { cut: cuts.anywhere(1) }))
    const whole = await client.messages.create(ask)
    const streamed = await client.messages.stream(ask).finalMessage()
    const { parsed_output: _, ...message } = streamed
    t.same({ ...message, id: '' }, { ...whole, id: '', usage: streamed.usage })
    t.match(whole.usage, {
      input_tokens: streamed.usage.input_tokens,
      output_tokens: streamed.usage.output_tokens,
      cache_read_input_tokens: streamed.usage.cache_read_input_tokens
    })
  }
})

t.test('errors have the classes of the official client', async t => {
  const { server, client } = await started(t)
  const classes = {
    400: Anthropic.BadRequestError,
    401: Anthropic.AuthenticationError,
    403: Anthropic.PermissionDeniedError,
    404: Anthropic.NotFoundError,
    429: Anthropic.RateLimitError,
    500: Anthropic.InternalServerError
  }
  for (const [status, Class] of Object.entries(classes)) {
    server.script(refusal(Number(status)))
    await t.rejects(client.messages.create(ask), Class)
  }
  server.script(reply({}, { events: events => [...events.slice(0, 4), errorBody(529)] }))
  await t.rejects(client.messages.stream(ask).finalMessage(), /overloaded_error/)
  const stranger = new Anthropic({ baseURL: new URL(server.url).origin, apiKey: 'other', maxRetries: 0 })
  await t.rejects(stranger.messages.create(ask), Anthropic.AuthenticationError)
  await t.rejects(client.messages.create({ ...ask, model: 'claude-0' }), Anthropic.NotFoundError)
})

t.test('models come in pages', async t => {
  const { server, client } = await started(t)
  server.pageSize = 5
  const ids: string[] = []
  for await (const { id } of client.models.list({ limit: 1000 })) ids.push(id)
  t.same(ids, models)
})

t.test('invalid requests are refused', async t => {
  const { client } = await started(t)
  const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' }
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  const called = (...content: object[]) => ({
    tools, messages: [...ask.messages, { role: 'assistant', content: [use] }, { role: 'user', content }]
  })
  const thought = (signature: string) => ({
    ...called(result),
    messages: [
      ...ask.messages,
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature }, use] },
      { role: 'user', content: [result] }
    ]
  })
  const format = (schema: object) => ({ output_config: { format: { type: 'json_schema', schema } } })
  const bad: [string, object, RegExp][] = [
    ['an unknown field', { n: 1 }, /property/i],
    ['no limit', { max_tokens: undefined }, /max_tokens/],
    ['a limit too high', { model: 'claude-3-haiku-20240307', max_tokens: 5000 }, /maximum allowed/],
    ['no messages', { messages: [] }, /messages/],
    ['an empty text', { messages: [{ role: 'user', content: ' ' }] }, /non-whitespace/],
    ['a prefill with a space at its end', { messages: [...ask.messages, { role: 'assistant', content: 'Well ' }] }, /trailing/],
    ['an image type', { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AA==' } }] }] }, /messages/],
    ['a stop of white space', { stop_sequences: ['\n'] }, /stop_sequences/],
    ['a temperature too high', { temperature: 1.5 }, /temperature/],
    ['temperature and top_p', { temperature: 0.5, top_p: 0.5 }, /both/],
    ['sampling for a new model', { model: 'claude-opus-5', temperature: 0.5 }, /not supported/],
    ['a choice without tools', { tool_choice: { type: 'auto' } }, /providing tools/],
    ['a forced tool for the newest', { model: 'claude-opus-5-5', tools, tool_choice: { type: 'any' } }, /forced/],
    ['a tool that is not there', { tools, tool_choice: { type: 'tool', name: 'g' } }, /not found/],
    ['results without tools', { ...called(result), tools: undefined }, /must define tools/],
    ['a call without its result', called({ type: 'text', text: 'x' }), /immediately after/],
    ['a result after text', called({ type: 'text', text: 'x' }, result), /come first/],
    ['a result of no call', called(result, { ...result, tool_use_id: 'toolu_2' }), /unexpected/],
    ['a changed thought', thought(sign('Hm, no')), /signature/],
    ['a budget that is too large', { thinking: { type: 'enabled', budget_tokens: 1024 } }, /greater than/],
    ['thinking with lost thoughts', { ...called(result), max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 1024 } }, /must start with/],
    ['effort for an old model', { model: 'claude-sonnet-4-5-20250929', output_config: { effort: 'low' } }, /effort/],
    ['thinking turned off where it cannot be', { model: 'claude-opus-5-5', thinking: { type: 'disabled' } }, /disabled/],
    ['an open schema', format({ type: 'object', properties: {} }), /explicitly/],
    ['an unknown keyword', format({ type: 'string', pattern: 'x' }), /pattern/],
    ['a schema for an old model', { model: 'claude-sonnet-4-20250514', ...format({ type: 'string' }) }, /format/],
    ['five marks for the cache', { system: Array(5).fill({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }) }, /Found 5/]
  ]
  for (const [name, fields, reason] of bad) {
    const body = { ...ask, ...fields } as unknown as Anthropic.MessageCreateParamsNonStreaming
    const refused = await client.messages.create(body).catch(error => error)
    t.ok(refused instanceof Anthropic.BadRequestError, name)
    t.match(refused.message, reason, name)
  }
  const good = { ...ask, ...thought(sign('Hm')), ...format({ type: 'object', additionalProperties: false }) }
  await t.resolves(client.messages.create(good as unknown as Anthropic.MessageCreateParamsNonStreaming))
})
