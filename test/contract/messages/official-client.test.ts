import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import t from 'tap'
import { z } from 'zod/v4'
import { reply as claudeReply } from '../../servers/anthropic.ts'
import { says } from '../../servers/gemini.ts'
import { rejection } from '../../helpers/thrown.ts'
import { reply } from '../../servers/upstream.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { anthropicAt, ask, startClaudePair, startGeminiPair, startOpenAIPair } from './clients.ts'

const openai = await startOpenAIPair(t)
const claude = await startClaudePair(t)
const gemini = await startGeminiPair(t)
const sandbox = await startGateway(t)

const hello = [{ role: 'user' as const, content: 'Hi' }]
const base = { model: 'chat', max_tokens: 2000, messages: hello }
const bodyOf = ({ server }: { server: { requests: readonly { method: string, body: unknown }[] } }) =>
  server.requests.filter(({ method }) => method === 'POST').at(-1)?.body

for (const isStream of [false, true]) {
  const how = isStream ? 'streamed' : 'whole'

  t.test(`text from each kind of provider, ${how}`, async t => {
    openai.server.script(reply({ text: 'Grüße 👩‍👩‍👧‍👦 dort', usage: { prompt: 50, completion: 9, cached: 20, reasoning: 4 } }))
    t.match(await ask(openai.client, base, isStream), {
      type: 'message',
      role: 'assistant',
      model: 'gpt-5-nano-2025-08-07',
      content: [{ type: 'text', text: 'Grüße 👩‍👩‍👧‍👦 dort' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 30,
        cache_read_input_tokens: 20,
        output_tokens: 9,
        output_tokens_details: { thinking_tokens: 4 }
      }
    })
    claude.server.script(claudeReply({ said: ['Grüße'], usage: { input_tokens: 3, cache_read_input_tokens: 20 } }))
    t.match(await ask(claude.client, base, isStream), {
      model: 'claude-sonnet-4-5', content: [{ type: 'text', text: 'Grüße' }], usage: { input_tokens: 3, cache_read_input_tokens: 20 }
    })
    t.match(await ask(gemini.client, base, isStream), { content: [{ type: 'text', text: 'Hello! How can I help?' }], stop_reason: 'end_turn' })
    const own = anthropicAt(sandbox)
    t.match(await ask(own, { ...base, model: 'sandbox-chat' }, isStream), { model: 'sandbox-chat', stop_reason: 'end_turn' })
  })

  t.test(`a text without citations has no such member, which the AI SDK would refuse, ${how}`, async t => {
    const { content: [text] } = await ask(anthropicAt(sandbox), { ...base, model: 'sandbox-chat' }, isStream)
    t.same(Object.keys(text ?? {}).sort(), ['text', 'type'])
  })

  t.test(`reasons to stop, ${how}`, async t => {
    openai.server.script(reply({ text: 'Well', finishReason: 'length' }), reply({ text: '', finishReason: 'content_filter' }))
    t.match(await ask(openai.client, base, isStream), { stop_reason: 'max_tokens' })
    t.match(await ask(openai.client, base, isStream), { stop_reason: 'refusal', stop_details: { type: 'refusal' } })
    const atStop = (choice: object) => ({ ...choice, stop_reason: 'END' })
    openai.server.script(reply({ text: 'Well' }, {
      completion: answer => ({ ...answer, choices: answer.choices.map(atStop) }),
      chunks: chunks => chunks.map(chunk => ({
        ...chunk,
        choices: chunk.choices.map(choice => choice.finish_reason === null ? choice : atStop(choice))
      }))
    }))
    const stopped = await ask(openai.client, { ...base, stop_sequences: ['END'] }, isStream)
    t.match([stopped.stop_reason, stopped.stop_sequence], ['stop_sequence', 'END'])
    t.match(bodyOf(openai), { stop: ['END'], max_completion_tokens: 2000 })
  })

  t.test(`tools with results, images and errors, ${how}`, async t => {
    const tools = [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' as const, properties: { at: { type: 'string' } } } }]
    const calls = [{ name: 'look', arguments: '{"at":"sky"}' }, { name: 'look', arguments: '{"at":"sea"}' }]
    openai.server.script(reply({ text: 'I look.', tools: calls }))
    const said = await ask(openai.client, { ...base, tools, tool_choice: { type: 'any', disable_parallel_tool_use: true } }, isStream)
    t.match(bodyOf(openai), { tool_choice: 'required', parallel_tool_calls: false, tools: [{ type: 'function', function: { name: 'look' } }] })
    t.match(said, {
      stop_reason: 'tool_use',
      content: [{ type: 'text', text: 'I look.' }, { type: 'tool_use', name: 'look', input: { at: 'sky' } }, { type: 'tool_use', input: { at: 'sea' } }]
    })
    const [, sky, sea] = said.content
    const idOf = (block: Anthropic.ContentBlock | undefined) => block?.type === 'tool_use' ? block.id : ''
    const png = { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA' }
    await ask(openai.client, {
      ...base,
      tools,
      messages: [...hello, { role: 'assistant', content: said.content }, {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: idOf(sky), content: [{ type: 'text', text: 'blue' }, { type: 'image', source: png }] },
          { type: 'tool_result', tool_use_id: idOf(sea), is_error: true, content: 'too far' }
        ]
      }]
    }, isStream)
    t.match(bodyOf(openai), {
      messages: [
        { role: 'user' },
        { role: 'assistant', content: 'I look.', tool_calls: [{ id: idOf(sky) }, { id: idOf(sea) }] },
        { role: 'tool', tool_call_id: idOf(sky), content: 'blue' },
        { role: 'tool', tool_call_id: idOf(sea), content: 'Error: too far' },
        { role: 'user', content: [{ type: 'text' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }
      ]
    })
  })

  t.test(`Gemini's signatures come back with the tool calls they belong to, ${how}`, async t => {
    const tools = [{ name: 'look', input_schema: { type: 'object' as const, properties: { at: { type: 'string' } } } }]
    const parts = [
      { text: 'Hm.', thought: true },
      { functionCall: { id: 'c1', name: 'look', args: { at: 'sky' } }, thoughtSignature: 'c2lnbmVk' }
    ]
    gemini.server.script(says([{ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }], usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 5, totalTokenCount: 13 } }]))
    const said = await ask(gemini.client, { ...base, tools, thinking: { type: 'enabled', budget_tokens: 1024 } }, isStream)
    t.match(said.content, [{ type: 'thinking', thinking: 'Hm.' }, { type: 'tool_use', input: { at: 'sky' } }])
    const call = said.content.find(block => block.type === 'tool_use')
    const result = { type: 'tool_result' as const, tool_use_id: call?.id ?? '', content: 'blue' }
    await ask(gemini.client, { ...base, tools, messages: [...hello, { role: 'assistant', content: said.content }, { role: 'user', content: [result] }] }, isStream)
    t.match(JSON.stringify(bodyOf(gemini)), '"thoughtSignature":"c2lnbmVk"')
  })

  t.test(`thoughts of a compatible server go back to it, ${how}`, async t => {
    openai.server.script(reply({ text: 'Yes.' }, {
      completion: answer => ({ ...answer, choices: answer.choices.map(choice => ({ ...choice, message: { ...Object(choice.message), reasoning_content: 'Hm.' } })) }),
      chunks: ([first, ...rest]) => [first!, { ...first!, choices: [{ index: 0, delta: { reasoning_content: 'Hm.' }, finish_reason: null }] }, ...rest]
    }))
    const said = await ask(openai.client, base, isStream)
    t.match(said.content, [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text', text: 'Yes.' }])
    await ask(openai.client, { ...base, messages: [...hello, { role: 'assistant', content: said.content }, ...hello] }, isStream)
    t.match(bodyOf(openai), { messages: [{}, { role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.' }, {}] })
  })
}

t.test('the SDK runs tools by itself', async t => {
  for (const stream of [false, true]) {
    openai.server.script(reply({ tools: [{ name: 'add', arguments: '{"a":1,"b":2}' }] }), reply({ text: 'It is 3.' }))
    const add = betaZodTool({
      name: 'add', description: 'Adds.', inputSchema: z.object({ a: z.number(), b: z.number() }), run: ({ a, b }) => String(a + b)
    })
    const runner = openai.client.beta.messages.toolRunner({ ...base, tools: [add], stream })
    t.match((await runner.runUntilDone()).content, [{ type: 'text', text: 'It is 3.' }])
    t.match(bodyOf(openai), { messages: [{}, {}, { role: 'tool', content: '3' }] })
  }
})

t.test('structured outputs are parsed', async t => {
  openai.server.script(reply({ text: '{"age": 7}' }))
  const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'], additionalProperties: false }
  const message = await openai.client.messages.create({ ...base, output_config: { format: { type: 'json_schema', schema } } })
  t.match(message.content, [{ text: '{"age": 7}' }])
  t.match(bodyOf(openai), { response_format: { type: 'json_schema', json_schema: { schema, strict: true } } })
})

t.test('a key may come in either header, but not two keys', async t => {
  const baseURL = new URL(openai.gateway.url).origin
  const byToken = new Anthropic({ baseURL, authToken: openai.gateway.key, apiKey: null, maxRetries: 0 })
  t.equal((await byToken.messages.create(base)).type, 'message')
  const { key } = openai.gateway
  const bothWith = (authorization: string) => anthropicAt(openai.gateway, { defaultHeaders: { 'x-api-key': key, authorization } })
  t.equal((await bothWith(`Bearer ${key}`).messages.create(base)).type, 'message')
  const { key: second } = await openai.gateway.app.keys.create({ account: 'default', label: '' })
  t.equal((await anthropicAt({ ...openai.gateway, key: second }).messages.create(base)).type, 'message')
  for (const other of [`Bearer ${second}`, 'Bearer sk-tg-another', 'Basic abc', `Bearer ${key}x`]) {
    t.match(await rejection(bothWith(other).messages.create(base)), { status: 401, type: 'authentication_error' })
  }
  const onlyKey = anthropicAt(openai.gateway, { defaultHeaders: { 'x-api-key': key, authorization: null } })
  t.equal((await onlyKey.messages.create(base)).type, 'message')
  const wrong = anthropicAt({ ...openai.gateway, key: 'sk-tg-wrong' })
  t.match(await rejection(wrong.messages.create(base)), { status: 401, type: 'authentication_error' })
  const plain = (path: string, headers: Record<string, string>) => fetch(`${openai.gateway.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(base) })
  t.equal((await plain('/messages', {})).status, 401)
  t.equal((await plain('/chat/completions', { 'x-api-key': openai.gateway.key })).status, 401, 'not for other APIs')
})

t.test('what Claude caches for an hour is marked, counted and charged as such', async t => {
  const system = [{ type: 'text' as const, text: 'Be kind.', cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } }]
  const counted = {
    input_tokens: 3,
    cache_creation_input_tokens: 50,
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 40 },
    output_tokens: 90
  }
  claude.server.script(claudeReply({ usage: counted }))
  const { data, response } = await claude.client.messages.create({ ...base, system }).withResponse()
  t.match(bodyOf(claude), { system })
  t.match(data.usage, counted)
  // 3 × $3 + 10 × $3.75 + 40 × $6 + 90 × $15, each per million.
  t.equal(response.headers.get('x-tollgate-cost'), '0.0016365')
  t.equal((await openai.client.messages.create({ ...base, system })).type, 'message')
  t.match(bodyOf(openai), { messages: [{ role: 'system', content: 'Be kind.' }, {}] })
})
