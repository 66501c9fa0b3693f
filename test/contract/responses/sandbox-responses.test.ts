import t from 'tap'
import OpenAI from 'openai'
import { startGateway } from '../../helpers/gateway.ts'
import { findPython } from '../../helpers/python.ts'
import { startPythonClient } from '../python-client.ts'
import { gatherResponse } from './responses-client.ts'

const gateway = await startGateway(t)
const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
const model = 'sandbox-chat'
const input = 'What is a gateway good for?'
const weather = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'Tells the weather in a city',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
}

t.test('openai-node creates, streams and parses responses', async t => {
  const whole = await client.responses.create({ model, input })
  t.match(whole.output_text, /gateway/)
  const streamed = await gatherResponse(client, { model, input })
  t.equal(streamed.output_text, whole.output_text)
  t.same(streamed.usage, whole.usage)
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
  const parsed = await client.responses.parse<object, { city: string }>({
    model, input, text: { format: { type: 'json_schema', name: 'place', strict: true, schema } }
  })
  t.type(parsed.output_parsed?.city, 'string')
  const cut = await client.responses.create({ model, input, max_output_tokens: 3 })
  t.match(cut, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
})

t.test('openai-node calls a tool and answers with its result', async t => {
  for (const stream of [false, true]) {
    const ask = async (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) => {
      return stream ? await gatherResponse(client, body) : await client.responses.create(body)
    }
    const question = { role: 'user' as const, content: 'What is the weather in Paris?' }
    const { output } = await ask({ model, input: [question], tools: [weather] })
    const call = output.find(item => item.type === 'function_call')
    t.match(call, { name: 'get_weather', status: 'completed' })
    t.type(JSON.parse(call?.arguments ?? '').city, 'string')
    const answer = await ask({
      model,
      tools: [weather],
      input: [question, call!, { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'Sunny, 25 °C' }]
    })
    t.match(answer.output_text, /Sunny, 25 °C/)
  }
})

const python = await findPython()
const skip = python === null ? 'not installed; the whole npm test does it' : false
t.test('openai-python creates, streams and parses responses', { skip }, async t => {
  const client = startPythonClient(python ?? '', gateway)
  t.teardown(() => client.close())
  const whole = await client.respond({ model, input })
  const streamed = await client.respond({ model, input, stream: true })
  t.same(streamed.output.map(({ type }) => type), ['message'])
  t.equal(Object(streamed.output[0]).content[0].text, Object(whole.output[0]).content[0].text)
  t.same(streamed.usage, whole.usage)
  for (const stream of [false, true]) {
    const { output } = await client.parseResponse({ model, input, stream })
    t.type(Object(output[0]?.content[0]?.parsed).city, 'string')
  }
  const { output } = await client.respond({ model, input: 'What is the weather in Paris?', tools: [weather], stream: true })
  t.match(output, [{ type: 'function_call', name: 'get_weather' }])
  await t.rejects(client.respond({ model, input, background: true }), /BadRequestError.*background/)
})
