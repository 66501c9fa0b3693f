import { zodResponseFormat } from 'openai/helpers/zod'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { z } from 'zod'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { findPython } from '../helpers/python.ts'
import { document, finish, hangUp, head, send, sequence, startUpstream, type Script } from '../servers/upstream.ts'
import { clients } from './clients.ts'
import { findLangChain } from './langchain.ts'
import { openaiSchema } from './openai-schemas.ts'
import { startPythonClient } from './python-client.ts'

// Streams of compatible servers that end in the wrong way, or come in the wrong form.

const chunkHead = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const messages = [{ role: 'user' as const, content: 'Hi' }]
const done = 'data: [DONE]\n\n'
const said = (delta: object, finish: string | null = null, index = 0) =>
  `data: ${JSON.stringify({ ...chunkHead, choices: [{ index, delta, finish_reason: finish }] })}\n\n`
const word = (text: string, index = 0, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...chunkHead, object: 'text_completion', choices: [{ index, text, logprobs: null, finish_reason: finish }] })}\n\n`
const opening = said({ role: 'assistant', content: '' })

const streamOf = (events: string[], { end = finish, type = 'text/event-stream' } = {}): Script =>
  sequence(head(type === '' ? {} : { 'content-type': type }), send(events.map(event => Buffer.from(event))), end)

async function start (t: Test) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url)) })
  async function post (body: object, path = '/chat/completions') {
    const answer = await request(gateway.url + path, {
      method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', stream: true, ...body })
    })
    const text = await answer.body.text()
    const chunks = text.split('\n\n').filter(block => block.startsWith('data: {')).map(block => JSON.parse(block.slice(6)))
    return { status: answer.statusCode, text, chunks }
  }
  return { upstream, gateway, post }
}

t.test('of two choices, one that is cut is no answer', async t => {
  const { upstream, post } = await start(t)
  const first = [opening, said({ content: 'Hi' }), said({}, 'stop')]
  const second = [said({ role: 'assistant', content: '' }, null, 1), said({ content: 'Ho' }, null, 1)]
  const legacy = [word('Hi', 0, 'stop'), word('Ho', 1)]
  for (const end of [finish, hangUp]) {
    for (const events of [first, [...first, ...second], [opening, ...second, said({}, 'stop', 1)]]) {
      upstream.script(streamOf(events, { end }))
      const { text, chunks } = await post({ messages, n: 2 })
      t.match(chunks.at(-1), { error: { type: 'server_error' } })
      t.notMatch(text, '[DONE]')
    }
    upstream.script(streamOf(legacy, { end }))
    t.match((await post({ prompt: 'Hi', n: 2 }, '/completions')).chunks.at(-1), { error: { type: 'server_error' } })
  }
  upstream.script(streamOf([...first, ...second, said({}, 'length', 1)]))
  const { text, chunks } = await post({ messages, n: 2 })
  t.match(text, done, 'a server may leave [DONE] out')
  const choices = chunks.flatMap(({ choices }) => choices)
  t.match(choices.filter(({ finish_reason: reason }) => reason !== null), [{ index: 0, finish_reason: 'stop' }, { index: 1, finish_reason: 'length' }])
})

t.test('what was said before a stream breaks off arrives, with its finish reason', async t => {
  const { upstream, post } = await start(t)
  upstream.script(streamOf([opening, said({ content: 'Hi' }, 'length')], { end: hangUp }))
  const { text, chunks } = await post({ messages })
  t.match(chunks.slice(1), [
    { choices: [{ delta: { content: 'Hi' }, finish_reason: 'length' }] }, { error: { type: 'server_error' } }
  ])
  t.notMatch(text, '[DONE]')
})

t.test('a stream with another content type, or none, is a stream', async t => {
  const { upstream, post } = await start(t)
  for (const type of ['text/plain', 'application/json', 'application/x-ndjson', '']) {
    const events = [': hello\n\n', opening, said({ content: 'Hi' }), said({}, 'stop'), done]
    upstream.script(streamOf(events, { type }))
    t.equal((await post({ messages })).text, events.slice(1).join(''), type)
  }
})

t.test('a JSON error in place of a stream keeps its meaning, whatever its content type', async t => {
  const { upstream, post } = await start(t)
  for (const type of ['text/event-stream', 'application/json']) {
    const error = { message: 'Busy.', code: 'server_is_overloaded' }
    upstream.script(document(`\n\n${JSON.stringify({ error })}`, { headers: { 'content-type': type } }))
    t.match(await post({ messages }), { status: 503, text: /server_is_overloaded/ })
    // The form of vLLM.
    upstream.script(document(JSON.stringify({ object: 'error', ...error }), { headers: { 'content-type': type } }))
    t.match(await post({ messages }), { status: 503, text: /server_is_overloaded/ })
  }
})

t.test('an error in any form ends a stream, with its meaning', async t => {
  const { upstream, post } = await start(t)
  const errors: Record<string, [string, string]> = {
    'OpenAI\'s': ['data: {"error":{"message":"Busy.","code":"server_is_overloaded"}}\n\n', 'server_is_overloaded'],
    'a text': ['data: {"error":"Busy."}\n\n', 'upstream_bad_reply'],
    'an error event': ['event: error\ndata: {"message":"Slow down.","code":429}\n\n', 'rate_limit_exceeded'],
    'an error event of a text': ['event: error\ndata: Out of memory\n\n', 'upstream_bad_reply'],
    'Anthropic\'s': ['data: {"type":"error","error":{"type":"overloaded_error","message":"Busy."}}\n\n', 'server_is_overloaded'],
    'FastAPI\'s': ['data: {"detail":"Out of memory"}\n\n', 'upstream_bad_reply'],
    'a code of its own': ['data: {"message":"Slow down.","code":429}\n\n', 'rate_limit_exceeded'],
    'with a choice': [said({}, 'error'), 'server_is_overloaded'],
    'no JSON': ['data: Internal Server Error\n\n', 'upstream_bad_reply']
  }
  for (const [form, [event, code]] of Object.entries(errors)) {
    upstream.script(streamOf([opening, said({ content: 'Hi' }), event, done]))
    const { text, chunks } = await post({ messages })
    t.match(chunks.at(-1), { error: { code } }, form)
    t.notMatch(text, '[DONE]', form)
  }
})

t.test('legacy completions: whole and streamed answers in each other\'s place, ids, indices and ends', async t => {
  const { upstream, gateway, post } = await start(t)
  const { completions } = clients['openai 7'](gateway)
  const isAnswer = openaiSchema('CreateCompletionResponse')
  const usage = { prompt_tokens: 1, completion_tokens: 2 }
  const bare = (text: string): string => `data: ${JSON.stringify({ choices: [{ text }] })}\n\n`
  const answers: Record<string, Script> = {
    'a whole answer': document(JSON.stringify({ choices: [{ text: 'Hi there!' }], usage })),
    'a stream': streamOf([bare('Hi '), bare('there!'), `data: ${JSON.stringify({ usage })}\n\n`, done]),
    'stop with every chunk': streamOf([word('Hi ', 0, 'stop'), word('there!', 0, 'stop'), done])
  }
  for (const [name, script] of Object.entries(answers)) {
    upstream.script(script, script, script)
    const whole = await completions.create({ model: 'chat', prompt: 'Hi' })
    t.match(whole, { object: 'text_completion', choices: [{ index: 0, text: 'Hi there!', finish_reason: 'stop' }] }, name)
    const choices = whole.choices.map(choice => ({ ...choice, logprobs: choice.logprobs ?? null }))
    t.equal(isAnswer({ ...whole, choices }), null, name)
    if (name !== 'stop with every chunk') t.equal(whole.usage?.total_tokens, 3)
    const stream = await completions.create({ model: 'chat', prompt: 'Hi', stream: true })
    const chunks = await Array.fromAsync(stream)
    t.equal(chunks.map(({ choices }) => choices[0]?.text).join(''), 'Hi there!', name)
    t.equal(new Set(chunks.map(({ id }) => id)).size, 1)
    t.same(chunks.map(({ choices }) => choices[0]?.finish_reason), [...chunks.slice(1).map(() => null), 'stop'], name)
    t.match((await post({ prompt: 'Hi' }, '/completions')).text, done)
  }
})

t.test('runTools and parse work with a server that gets everything wrong', async t => {
  const { upstream, gateway } = await start(t)
  const { chat } = clients['openai 7'](gateway)
  const bare = (delta: object) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`
  const calling = streamOf([
    bare({ tool_calls: [{ function: { name: 'get_weather', arguments: { city: 'Paris' } } }] }),
    bare({ tool_calls: [{ function: { name: 'get_weather', arguments: { city: 'Rome' } } }] }), done
  ])
  const answering = streamOf([bare({ content: 'Sunny, ' }), bare({ content: 'both.' }), done])
  const asked: unknown[] = []
  for (const stream of [true, false]) {
    upstream.script(calling, answering)
    const tool = {
      type: 'function' as const,
      function: {
        name: 'get_weather',
        description: 'The weather in a city.',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
        parse: (text: string): object => JSON.parse(text),
        function (input: object): string {
          asked.push(input)
          return 'sunny'
        }
      }
    }
    const runner = stream
      ? chat.completions.runTools({ model: 'chat', messages, tools: [tool], stream })
      : chat.completions.runTools({ model: 'chat', messages, tools: [tool] })
    t.equal(await runner.finalContent(), 'Sunny, both.')
    t.same(asked.splice(0), [{ city: 'Paris' }, { city: 'Rome' }])
    const sent = Object(upstream.requests.at(-1)?.body).messages
    const ids: string[] = sent[1].tool_calls.map(({ id }: { id: string }) => id)
    t.same(sent.slice(2).map(({ tool_call_id: id }: { tool_call_id: string }) => id), ids)
    t.equal(new Set(ids).size, 2)
  }
  const form = zodResponseFormat(z.object({ city: z.string() }), 'place')
  const place = streamOf([bare({ content: '{"city":' }), bare({ content: '"Paris"}' }), done])
  upstream.script(place, place)
  const parsed = await chat.completions.parse({ model: 'chat', messages, response_format: form })
  t.same(parsed.choices[0]?.message.parsed, { city: 'Paris' })
  const streamed = await chat.completions.stream({ model: 'chat', messages, response_format: form }).finalChatCompletion()
  t.same(streamed.choices[0]?.message.parsed, { city: 'Paris' })
  const found = await findLangChain()
  if (found === null) t.comment('LangChain cannot be installed')
  else {
    const schema = { title: 'place', type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const langChain = new found.ChatOpenAI({
      model: 'chat', apiKey: gateway.key, maxRetries: 0, configuration: { baseURL: gateway.url }
    }).withStructuredOutput(schema, { method: 'jsonSchema' })
    upstream.script(place, place)
    t.same(await langChain.invoke('Hi'), { city: 'Paris' }, 'LangChain')
    // Not `streaming: true` with `invoke`, which loads a tokenizer from the network.
    t.same((await Array.fromAsync(await langChain.stream('Hi'))).at(-1), { city: 'Paris' }, 'LangChain, streamed')
  }
  const python = await findPython()
  if (python === null) return t.comment('openai-python is not installed; the whole npm test does it')
  const client = startPythonClient(python, gateway)
  t.teardown(() => client.close())
  for (const stream of [false, true]) {
    upstream.script(place)
    const { choices } = await client.parse({ model: 'chat', messages, stream })
    t.same(choices[0]?.message.parsed, { city: 'Paris' }, 'openai-python')
  }
})
