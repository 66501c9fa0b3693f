import t from 'tap'
import { configFor, providerAt, startGateway } from '../../../helpers/gateway.ts'
import { document, refusal, reply, startAnthropic } from '../../../servers/anthropic.ts'
import type { Reply } from '../../../servers/anthropic.ts'
import type { Script } from '../../../servers/upstream.ts'
import { hangUp, reset } from '../../../servers/upstream.ts'

const server = await startAnthropic()
t.teardown(() => server.close())
const headers = { 'Anthropic-Beta': 'context-1m-2025-08-07' }
const provider = providerAt(server.url.replace('/v1', ''), { protocol: 'anthropic', apiKey: 'sk-ant-secret', headers })
const deployments = [{ provider: 'up', model: 'claude-sonnet-4-6', weight: 1, priority: 0 }]
const gateway = await startGateway(t, { config: configFor(provider, { deployments }) })

async function ask (script: Script, more: object = {}) {
  server.script(script)
  const answer = await fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: gateway.headers,
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }], ...more })
  })
  return { status: answer.status, headers: answer.headers, body: Object(await answer.json()) }
}

const choiceOf = async (said: Reply) => (await ask(reply(said))).body.choices[0]

t.test('a message is a completion', async t => {
  const { body, headers } = await ask(reply({ said: ['Hello ', 'there'] }))
  t.match(body, { id: /^chatcmpl-msg_/, object: 'chat.completion', created: Number, model: 'claude-sonnet-4-6' })
  t.same(body.choices, [{
    index: 0,
    message: { role: 'assistant', content: 'Hello there', refusal: null },
    finish_reason: 'stop',
    logprobs: null
  }])
  t.match(body.usage, { prompt_tokens: 25, completion_tokens: 15, total_tokens: 40 })
  t.equal(body.service_tier, 'default', 'Anthropic calls it standard')
  t.equal(headers.get('x-tollgate-dropped-params'), null)
  const seen = server.requests.at(-1)
  t.match(seen?.headers, {
    'x-api-key': 'sk-ant-secret', 'anthropic-version': '2023-06-01', 'anthropic-beta': 'context-1m-2025-08-07'
  })
  t.equal(seen?.path, '/v1/messages', 'the version is added to an address without one')
})

t.test('tool calls, thoughts and refusals map to OpenAI\'s fields', async t => {
  const called = await choiceOf({ said: [{ thinking: 'Hm.' }, { tool: 'f', input: { a: 1 }, id: 'toolu_1' }, { tool: 'g' }] })
  t.match(called, {
    message: {
      content: null,
      reasoning_content: 'Hm.',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: String }],
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' }, extra_content: { google: {} } },
        { function: { name: 'g', arguments: '{}' } }
      ]
    },
    finish_reason: 'tool_calls'
  })
  const stopDetails = { type: 'refusal' as const, category: 'cyber' as const, explanation: 'This could do harm.' }
  t.match(await choiceOf({ said: [], stopReason: 'refusal', stopDetails }), {
    message: { content: '', refusal: 'This could do harm.' }, finish_reason: 'content_filter'
  })
  t.match(await choiceOf({ said: [], stopReason: 'refusal' }), { message: { refusal: /declined/ } })
})

t.test('thinking blocks are sent back unchanged, from either field that carries them', async t => {
  const { message } = await choiceOf({
    said: [{ thinking: 'Secret.', display: 'omitted' }, { redacted: 'x1' }, { tool: 'f', id: 'toolu_1' }]
  })
  const { extra_content: _, ...bare } = message.tool_calls[0]
  const { reasoning_details: __, ...quiet } = message
  const ways = [message, quiet, { ...message, tool_calls: [bare] }]
  const result = { role: 'tool', tool_call_id: 'toolu_1', content: 'ok' }
  for (const way of ways) {
    const { status } = await ask(reply(), { messages: [{ role: 'user', content: 'Hi' }, way, result] })
    t.equal(status, 200, 'the seals hold')
    t.match(server.requests.at(-1)?.body?.messages, [
      {}, { content: [{ type: 'thinking', thinking: '' }, { type: 'redacted_thinking', data: 'x1' }, { type: 'tool_use' }] }, {}
    ])
  }
  const stranger = { ...bare, extra_content: { google: { thought_signature: 'claude.x' } } }
  const foreign = { ...quiet, tool_calls: [stranger], reasoning_details: [{ type: 'reasoning.text', text: 'x', signature: 'y' }] }
  await ask(reply(), { messages: [{ role: 'user', content: 'Hi' }, foreign, result] })
  t.match(server.requests.at(-1)?.body?.messages, [{}, { content: [{ type: 'tool_use' }] }, {}], 'what is not ours stays out')
})

t.test('every error has its status and hides the key', async t => {
  const retry = { 'retry-after': '7' }
  const cases: [string, Script, object][] = [
    ['bad request', refusal(400), { status: 400, error: { message: /at least one message/ } }],
    ['too long', refusal(400, { message: 'prompt is too long: 200001 tokens > 200000 maximum' }),
      { status: 400, error: { code: 'context_length_exceeded', param: 'messages' } }],
    ['out of credit, as a bad request', refusal(400, { message: 'Your credit balance is too low to access the Anthropic API.' }),
      { status: 502, error: { code: 'upstream_quota' } }],
    ['on hold', refusal(400, { details: { error_code: 'organization_on_hold' } }), { status: 502, error: { code: 'upstream_auth' } }],
    ['image too large', refusal(400, { details: { error_code: 'image_dimensions_too_large' } }),
      { status: 400, error: { code: 'image_dimensions_too_large' } }],
    ['wrong key', refusal(401, { message: 'invalid x-api-key: sk-ant-secret' }), { status: 502, error: { code: 'upstream_auth' } }],
    ['billing', refusal(402), { status: 502, error: { code: 'upstream_quota' } }],
    ['forbidden', refusal(403), { status: 502, error: { code: 'upstream_auth' } }],
    ['no such model', refusal(404), { status: 404, error: { code: 'model_not_found' } }],
    ['too large', refusal(413), { status: 413, error: { code: 'request_too_large' } }],
    ['rate limit', refusal(429, {}, retry), { status: 429, retryAfter: '7', error: { code: 'rate_limit_exceeded' } }],
    ['spend limit', refusal(429, { details: { error_code: 'enforced_spend_limit_reached' } }),
      { status: 502, error: { code: 'upstream_quota' } }],
    ['internal', refusal(500), { status: 502, error: { code: 'upstream_bad_reply' } }],
    ['timeout', refusal(504), { status: 504 }],
    ['overloaded', refusal(529, {}, retry), { status: 503, retryAfter: '7', error: { code: 'server_is_overloaded' } }],
    ['a page', document('<html>', { status: 502, headers: { 'content-type': 'text/html' } }), { status: 502 }],
    ['an error with status 200', document('{"type":"error","error":{"type":"overloaded_error","message":"x"}}'), { status: 503 }],
    ['no JSON', document('{"id"'), { status: 502, error: { code: 'upstream_bad_reply' } }],
    ['no message', document('[]'), { status: 502 }],
    ['no content', document('{"type":"message"}'), { status: 502 }],
    ['reset', reset, { status: 502, error: { code: 'upstream_unreachable' } }],
    ['hung up', hangUp, { status: 502 }]
  ]
  for (const [name, script, expected] of cases) {
    const { status, headers, body: { error } } = await ask(script)
    t.match({ status, retryAfter: headers.get('retry-after'), error }, expected, name)
    t.same(Object.keys(error), ['message', 'type', 'param', 'code'], name)
    t.notMatch(JSON.stringify(error), 'sk-ant-secret', name)
  }
})

t.test('a request without an equivalent is refused before anything is sent', async t => {
  const before = server.requests.length
  server.script(reply())
  for (const fields of [{ n: 2 }, { logprobs: true }, { stop: ' ' }]) {
    const { status, body } = await ask(reply(), fields)
    t.match({ status, body }, { status: 400, body: { error: { type: 'invalid_request_error', param: Object.keys(fields)[0] } } })
  }
  t.equal(server.requests.length, before)
})
