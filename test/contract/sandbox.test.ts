import t from 'tap'
import { startGateway } from '../helpers/gateway.ts'
import { clientNames, clients, errorClasses } from './clients.ts'
import { openaiSchema } from './openai-schemas.ts'

const invalidCompletion = openaiSchema('CreateChatCompletionResponse')
const invalidChunk = openaiSchema('CreateChatCompletionStreamResponse')
const invalidLegacy = openaiSchema('CreateCompletionResponse')
const invalidList = openaiSchema('ListModelsResponse')
const invalidModel = openaiSchema('Model')

const question = [{ role: 'user' as const, content: 'What is a gateway good for?' }]
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'Tells the weather in a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit']
    }
  }
}

for (const name of clientNames) {
  t.test(`${name} chats with the sandbox`, async t => {
    const gateway = await startGateway(t)
    const client = clients[name](gateway)

    t.test('a whole answer', async t => {
      const completion = await client.chat.completions.create({ model: 'sandbox-chat', messages: question })
      t.equal(invalidCompletion(completion), null)
      t.equal(completion.model, 'sandbox-chat')
      t.match(completion.choices[0]?.message.content, /gateway/)
      t.match(completion._request_id, /^req_/)
    })

    t.test('a stream that adds up to the whole answer', async t => {
      const request = { model: 'sandbox-chat', messages: question, max_tokens: 12 }
      const whole = await client.chat.completions.create(request)
      const stream = await client.chat.completions.create({
        ...request, stream: true, stream_options: { include_usage: true }
      })
      const chunks = []
      for await (const chunk of stream) chunks.push(chunk)
      for (const chunk of chunks) t.equal(invalidChunk(chunk), null)
      t.equal(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), whole.choices[0]?.message.content)
      t.same(chunks.at(-1)?.usage, whole.usage)
      t.same(chunks.at(-1)?.choices, [])
      t.ok(chunks.slice(0, -1).every(chunk => chunk.usage === null))
    })

    t.test('a stream without usage shows none', async t => {
      const stream = await client.chat.completions.create({
        model: 'sandbox-chat', messages: question, max_tokens: 3, stream: true
      })
      for await (const chunk of stream) {
        t.equal(chunk.choices.length, 1)
        t.notOk('usage' in chunk)
      }
    })

    t.test('a tool call and its result', async t => {
      const request = { model: 'sandbox-chat', messages: question, tools: [weather], tool_choice: 'required' as const }
      const { choices: [choice] } = await client.chat.completions.create(request)
      t.equal(choice?.finish_reason, 'tool_calls')
      const call = choice?.message.tool_calls?.[0]
      if (choice === undefined || call?.type !== 'function') return t.fail('no function was called')
      t.match(JSON.parse(call.function.arguments), { city: String, unit: /celsius|fahrenheit/ })
      const next = await client.chat.completions.create({
        model: 'sandbox-chat',
        tools: [weather],
        messages: [...question, choice.message, { role: 'tool', tool_call_id: call.id, content: 'Sunny, 31 degrees' }]
      })
      t.equal(next.choices[0]?.finish_reason, 'stop')
      t.match(next.choices[0]?.message.content, /31/)
    })

    t.test('a streamed tool call', async t => {
      const stream = await client.chat.completions.create({
        model: 'sandbox-chat', messages: question, tools: [weather], tool_choice: 'required', stream: true
      })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? ''
      t.match(JSON.parse(text), { city: String })
    })

    t.test('JSON mode', async t => {
      const { choices: [choice] } = await client.chat.completions.create({
        model: 'sandbox-chat', messages: question, response_format: { type: 'json_object' }
      })
      t.type(JSON.parse(choice?.message.content ?? ''), 'object')
    })

    t.test('legacy completions, whole and streamed, are mapped to chat', async t => {
      const completion = await client.completions.create({ model: 'sandbox-chat', prompt: ['One', 'Two'], n: 2 })
      t.equal(invalidLegacy(completion), null)
      t.same(completion.choices.map(({ index }) => index), [0, 1, 2, 3])
      t.match(completion.id, /^cmpl-/)
      t.equal(completion.usage?.completion_tokens, 4 * 16, 'the legacy default of 16 tokens holds')
      const stream = await client.completions.create({ model: 'sandbox-chat', prompt: ['One', 'Two'], stream: true })
      const texts = ['', '']
      for await (const chunk of stream) {
        t.equal(chunk.object, 'text_completion')
        for (const { index, text } of chunk.choices) texts[index] += text
      }
      t.same(texts, [completion.choices[0]?.text, completion.choices[2]?.text])
    })

    t.test('models', async t => {
      const page = await client.models.list()
      t.equal(invalidList({ object: 'list', data: page.data }), null)
      const policies = ['auto', 'auto:cost', 'auto:quality', 'auto:speed']
      t.same(page.data.map(({ id }) => id), [...policies, 'sandbox-chat', 'sandbox-image', 'sandbox-video'])
      t.equal(invalidModel(await client.models.retrieve('sandbox-chat')), null)
    })

    t.test('errors are the exceptions that an app catches', async t => {
      const kinds = errorClasses[name]
      const ask = (more: object, other = client) =>
        other.chat.completions.create({ model: 'sandbox-chat', messages: question, ...more }).catch(error => error)
      const unknown = await ask({ model: 'nothing' })
      t.ok(unknown instanceof kinds.NotFoundError)
      t.match(unknown, { status: 404, code: 'model_not_found', type: 'invalid_request_error' })
      const invalid = await ask({ temperature: 3 })
      t.ok(invalid instanceof kinds.BadRequestError)
      t.match(invalid, { param: 'temperature', code: 'decimal_above_max_value' })
      const stranger = clients[name]({ url: gateway.url, key: 'sk-tg-0000000000000000-nothing' })
      t.ok(await ask({}, stranger) instanceof kinds.AuthenticationError)
      const busy = await ask({ messages: [{ role: 'user', content: 'sandbox:error 429' }] })
      t.ok(busy instanceof kinds.RateLimitError)
      const broken = await ask({ messages: [{ role: 'user', content: 'sandbox:error mid-stream' }], stream: true })
      const failure = await Array.fromAsync(broken).catch(error => error)
      t.ok(failure instanceof kinds.APIError)
    })

    t.test('an abort ends the request', async t => {
      const stream = await client.chat.completions.create({
        model: 'sandbox-chat', messages: [{ role: 'user', content: 'sandbox:delay 30000' }], stream: true
      }, { signal: AbortSignal.timeout(50) }).catch(error => error)
      t.ok(stream instanceof errorClasses[name].APIUserAbortError)
      const line = await gateway.line(({ outcome }) => outcome === 'client_gone')
      t.equal(line.asked, 'sandbox-chat')
    })
  })
}

t.test('a header directs the sandbox, so that prompts stay real', async t => {
  const { app, headers } = await startGateway(t)
  const ask = async (url: string, payload: object, directive: string) => await app.inject({
    method: 'POST', url, payload, headers: { ...headers, 'x-tollgate-sandbox': directive }
  })
  const chat = { model: 'sandbox-chat', messages: question }
  t.equal((await ask('/v1/chat/completions', chat, 'error 429')).statusCode, 429)
  t.equal((await ask('/v1/chat/completions', chat, 'delay 1')).statusCode, 200)
  t.equal((await ask('/v1/chat/completions', chat, 'dance')).statusCode, 200)
  const image = { model: 'sandbox-image', prompt: 'a bridge', size: '64x64' }
  t.match((await ask('/v1/images/generations', image, 'error moderated')).json(), { error: { code: 'content_policy_violation' } })
})
