import assert from 'node:assert/strict'
import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { apiKey, judge, obeys, origin } from './judge.js'

// LangChain with ChatOpenAI on the Responses API, and with ChatAnthropic.

const connections = {
  responses: (model, more = {}) => new ChatOpenAI({
    model, apiKey, configuration: { baseURL: `${origin}/v1` }, useResponsesApi: true, maxRetries: 0, ...more.responses
  }),
  messages: (model, more = {}) => new ChatAnthropic({
    model, apiKey, anthropicApiUrl: origin, maxTokens: 4000, maxRetries: 0, ...more.messages
  })
}
const thinking = {
  responses: { reasoning: { effort: 'low', summary: 'auto' } },
  messages: { thinking: { type: 'enabled', budget_tokens: 1024 } }
}
const getWeather = tool(async () => 'Sunny, 25 °C', {
  name: 'get_weather', description: 'Tells the weather in a city.', schema: z.object({ city: z.string() })
})

async function ask (client, messages, stream) {
  if (!stream) return await client.invoke(messages)
  let whole
  for await (const piece of await client.stream(messages)) whole = whole?.concat(piece) ?? piece
  return whole
}

const each = run => async (model, stream) => {
  for (const [name, connect] of Object.entries(connections)) {
    try {
      await run(more => connect(model, more), { model, stream, name })
    } catch (error) {
      throw new Error(name, { cause: error })
    }
  }
}

await judge({
  answers: each(async (connect, { model, stream }) => {
    const message = await ask(connect(), 'SAY Grüße 👩‍👩‍👧‍👦', stream)
    if (obeys(model)) assert.equal(message.text, 'Grüße 👩‍👩‍👧‍👦')
    assert.ok(message.usage_metadata.input_tokens > 0 && message.usage_metadata.output_tokens > 0)
  }),
  'runs tools': each(async (connect, { model, stream }) => {
    const client = connect(thinking).bindTools([getWeather])
    const messages = [new HumanMessage('THINK It may rain.\nCALL get_weather {"city": "Paris"}')]
    const asked = await ask(client, messages, stream)
    const [call] = asked.tool_calls
    assert.equal(call.name, 'get_weather')
    assert.equal(typeof call.args.city, 'string')
    const content = await getWeather.invoke(call.args)
    messages.push(asked, new ToolMessage({ tool_call_id: call.id, content }))
    const answer = await ask(client, messages, stream)
    assert.match(answer.text, /Sunny, 25 °C/)
    if (!obeys(model)) return
    messages.push(answer, new HumanMessage('SAY Bye'))
    assert.equal((await ask(client, messages, stream)).text, 'Bye')
  }),
  'returns objects': each(async (connect, { model, stream }) => {
    const schema = z.object({ city: z.string() })
    for (const method of ['jsonSchema', 'functionCalling']) {
      // LangChain's own parsers of tool calls read no streams.
      if (stream && method === 'functionCalling') continue
      const client = connect().withStructuredOutput(schema, { method, name: 'place' })
      const place = stream
        ? (await Array.fromAsync(await client.stream('JSON {"city": "Paris"}'))).at(-1)
        : await client.invoke('JSON {"city": "Paris"}')
      assert.equal(typeof place.city, 'string', method)
      if (obeys(model)) assert.deepEqual(place, { city: 'Paris' })
    }
  })
})
