import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { request } from 'undici'
import t from 'tap'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { reply, startUpstream } from '../servers/upstream.ts'

// Clients that write every field that they know send null for the ones that were not set.

const upstream = await startUpstream()
t.teardown(() => upstream.close())
upstream.always(reply())
const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url)) })
const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url.replace('/v1', ''), apiKey: gateway.key, maxRetries: 0 })

/** What the SDKs declare otherwise. */
const unset = (...names: string[]): object => Object.fromEntries(names.map(name => [name, null]))

/** A schema of the client's, in which null has a meaning. */
const parameters = { type: 'object' as const, properties: { unit: { enum: ['C', null], default: null } } }

const calls: Record<string, () => Promise<unknown>> = {
  chat: async () => await openai.chat.completions.create({
    model: 'chat',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi', ...unset('prompt_cache_breakpoint') }], ...unset('name') },
      { role: 'assistant', content: 'Hello', ...unset('tool_calls', 'function_call', 'name', 'audio') },
      { role: 'user', content: 'Weather?' }
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters, ...unset('description', 'strict') } }],
    ...unset('user', 'tool_choice', 'response_format', 'functions', 'function_call', 'parallel_tool_calls',
      'prompt_cache_options', 'web_search_options', 'stream_options')
  }),
  completions: async () => await openai.completions.create({ model: 'chat', prompt: 'Hi', ...unset('user', 'suffix') }),
  responses: async () => await openai.responses.create({
    model: 'chat',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi', ...unset('prompt_cache_breakpoint') }] }],
    tools: [{ type: 'function', name: 'f', parameters, strict: null, ...unset('description') }],
    ...unset('user', 'tool_choice', 'text', 'metadata')
  }),
  messages: async () => await anthropic.messages.create({
    model: 'chat',
    max_tokens: 10,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...unset('cache_control', 'citations') }] }],
    tools: [{ name: 'f', input_schema: parameters, ...unset('description', 'type') }],
    ...unset('system', 'tool_choice', 'thinking', 'output_config', 'stop_sequences')
  })
}

for (const [api, call] of Object.entries(calls)) {
  t.test(`null in optional members of ${api} is the same as nothing`, async t => {
    await call()
    const sent = JSON.stringify(upstream.requests.at(-1)?.body)
    t.notMatch(sent.replaceAll(JSON.stringify(parameters), ''), /"(user|tool_calls|description|tool_choice|name)":null/)
    if (api !== 'completions') t.match(sent, JSON.stringify(parameters))
  })
}

t.test('null where a value is required is refused by its name', async t => {
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: null }] })
  const response = await request(`${gateway.url}/chat/completions`, { method: 'POST', headers: gateway.headers, body })
  t.equal(response.statusCode, 400)
  t.match(await response.body.json(), { error: { param: 'messages[0].content' } })
})
