import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { ajvOptions } from '../../../services/http/validation.ts'
import {
  acceptedBeyondSpecification, acceptedChat, chatRequest, refusedBeyondSpecification, refusedChat
} from '../corpus.ts'
import { compile, compileOpenAi } from '../validators.ts'

const accepts = compile(ChatCompletionRequest)
const openAiAccepts = compileOpenAi('CreateChatCompletionRequest')

t.test('a chat request that OpenAI accepts is accepted', async t => {
  t.ok(acceptedChat.length >= 60, 'the corpus is large enough to mean something')
  for (const patch of acceptedChat) {
    const request = chatRequest(patch)
    t.ok(openAiAccepts(request), `specification: ${JSON.stringify(patch)}`)
    t.ok(accepts(request), `gateway: ${JSON.stringify(patch)}`)
  }
})

t.test('any mixture of accepted fields is accepted', async () => {
  fc.assert(fc.property(fc.shuffledSubarray(acceptedChat, { maxLength: 12 }), patches => {
    const request = chatRequest(Object.assign({}, ...patches))
    return openAiAccepts(request) === true && accepts(request) === true
  }), { numRuns: 500 })
})

t.test('a chat request that OpenAI refuses is refused', async t => {
  for (const { patch } of refusedChat) {
    const request = chatRequest(patch)
    t.notOk(openAiAccepts(request), `specification: ${JSON.stringify(patch)}`)
    t.notOk(accepts(request), `gateway: ${JSON.stringify(patch)}`)
  }
})

t.test('the gateway departs from the specification only where it says so', async t => {
  for (const patch of acceptedBeyondSpecification) {
    t.ok(accepts(chatRequest(patch)), `accepted: ${JSON.stringify(patch)}`)
    t.notOk(openAiAccepts(chatRequest(patch)), `still a departure: ${JSON.stringify(patch)}`)
  }
  for (const patch of refusedBeyondSpecification) {
    t.notOk(accepts(chatRequest(patch)), `refused: ${JSON.stringify(patch)}`)
    t.ok(openAiAccepts(chatRequest(patch)), `still a departure: ${JSON.stringify(patch)}`)
  }
})

const token = {
  token: 'Hi',
  logprob: -0.123456789012345,
  bytes: [72, 105],
  top_logprobs: [{ token: 'Hi', logprob: -1e-7, bytes: null, rank: 1 }],
  rank: 1
}

const usage = {
  prompt_tokens: 10,
  completion_tokens: 20,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2, video_tokens: 1 },
  completion_tokens_details: { reasoning_tokens: 5, text_tokens: 15, image_tokens: 0 },
  cost: 0.000123456789
}

const richCompletion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_790_000_000,
  model: 'gpt-5-nano-2025-08-07',
  choices: [{
    index: 0,
    message: {
      role: 'assistant',
      content: null,
      refusal: null,
      reasoning_content: 'Let me think.',
      annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com', start_index: 0 } }],
      audio: { id: 'audio_1', expires_at: 1, data: 'AAAA', transcript: 'Hi' },
      function_call: { name: 'f', arguments: '{}', extra: 1 },
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'weather', arguments: '{"city":"Bern"}', strict: true },
          extra_content: { google: { thought_signature: 'abc' } }
        },
        { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'ls', extra: null } }
      ]
    },
    finish_reason: 'tool_calls',
    logprobs: { content: [token], refusal: null, extra: [] },
    native_finish_reason: 'TOOL'
  }, {
    index: 1,
    message: { role: 'assistant', content: 'Grüße, 🌍 "quoted" \u2028', refusal: 'No.', audio: null },
    finish_reason: 'stop',
    logprobs: null
  }],
  usage,
  service_tier: null,
  system_fingerprint: null,
  metadata: { a: 'b' },
  provider: { name: 'x', nested: [1.5, null, { deep: true }] }
}

const richChunk = {
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'm',
  choices: [{
    index: 0,
    delta: {
      role: 'assistant',
      content: '',
      refusal: null,
      reasoning_content: null,
      tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'w', arguments: '', x: 1 }, y: 2 }]
    },
    finish_reason: null,
    logprobs: { content: [token], refusal: null }
  }],
  usage: null,
  obfuscation: 'abc',
  x_groq: { id: 'r' }
}

t.test('an answer comes out of the server with every field it went in with', async t => {
  const app = Fastify({ ajv: { customOptions: ajvOptions } })
  const cases = [
    { url: '/rich', schema: ChatCompletion, body: richCompletion },
    { url: '/plain', schema: ChatCompletion, body: { ...richCompletion, choices: [], usage: undefined } },
    { url: '/chunk', schema: ChatCompletionChunk, body: richChunk },
    { url: '/usage', schema: ChatCompletionChunk, body: { ...richChunk, choices: [], usage } }
  ]
  for (const { url, schema, body } of cases) {
    app.get(url, { schema: { response: { 200: schema } } }, () => body)
  }
  for (const { url, body } of cases) {
    const response = await app.inject({ url })
    t.equal(response.statusCode, 200)
    t.strictSame(response.json(), JSON.parse(JSON.stringify(body)), url)
  }
})

t.test('answers in OpenAI\'s form follow the schemas of answers', async t => {
  t.ok(compile(ChatCompletion)(richCompletion))
  t.ok(compile(ChatCompletionChunk)(richChunk))
  const { logprobs, ...choice } = richCompletion.choices[1] ?? {}
  t.equal(logprobs, null)
  t.ok(compile(ChatCompletion)({ ...richCompletion, choices: [choice] }), 'the live service sends no `logprobs` key')
})
