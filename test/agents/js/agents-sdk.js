import assert from 'node:assert/strict'
import {
  Agent, handoff, MemorySession, run, Runner, setDefaultOpenAIClient, setTracingDisabled, tool
} from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { apiKey, judge, obeys, origin } from './judge.js'

// OpenAI's Agents SDK on the Responses API: tools, hand-offs, streams, objects and conversations.

setTracingDisabled(true)
setDefaultOpenAIClient(new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 }))

const call = 'CALL get_weather {"city": "Paris"}'
const getWeather = tool({
  name: 'get_weather',
  description: 'Tells the weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: async () => 'Sunny, 25 °C'
})
const Place = z.object({ city: z.string() })

async function ask (agent, text, stream, options = {}) {
  if (!stream) return await run(agent, text, options)
  const result = await run(agent, text, { ...options, stream: true })
  const kinds = new Set()
  for await (const event of result) kinds.add(event.type)
  await result.completed
  assert.ok(kinds.has('raw_model_stream_event') && kinds.has('run_item_stream_event'), [...kinds].join())
  return result
}

await judge({
  async 'runs tools' (model, stream) {
    const modelSettings = { reasoning: { effort: 'low', summary: 'auto' }, parallelToolCalls: false, store: !stream }
    const agent = new Agent({ name: 'Weather', instructions: 'Be brief.', model, tools: [getWeather], modelSettings })
    const { finalOutput, newItems } = await ask(agent, `THINK It may rain.\n${call}`, stream)
    assert.match(finalOutput, /Sunny, 25 °C/)
    if (obeys(model)) assert.ok(newItems.some(({ type }) => type === 'reasoning_item'))
  },
  async 'hands off' (model, stream) {
    const weather = new Agent({ name: 'Weather', instructions: 'You know the weather.', model, tools: [getWeather] })
    const triage = new Agent({ name: 'Triage', instructions: 'Hand off.', model, handoffs: [handoff(weather)] })
    const result = await ask(triage, `CALL transfer_to_Weather {}\n${call}`, stream)
    assert.equal(result.lastAgent?.name, 'Weather')
    if (obeys(model)) assert.match(result.finalOutput, /Sunny, 25 °C/)
  },
  async 'uses an agent as a tool' (model, stream) {
    const weather = new Agent({ name: 'Weather', instructions: 'You know the weather.', model })
    const asked = weather.asTool({ toolName: 'ask_weather', toolDescription: 'Knows the weather' })
    const agent = new Agent({ name: 'Main', model, tools: [asked] })
    const { finalOutput } = await ask(agent, 'CALL ask_weather {"input": "SAY Sunny, 25 °C"}', stream)
    if (obeys(model)) assert.equal(finalOutput, 'Sunny, 25 °C')
  },
  async 'returns objects' (model, stream) {
    const agent = new Agent({ name: 'Places', model, outputType: Place })
    const { finalOutput } = await ask(agent, 'JSON {"city": "Paris"}', stream)
    assert.equal(typeof finalOutput.city, 'string')
    if (obeys(model)) assert.deepEqual(finalOutput, { city: 'Paris' })
  },
  async 'goes on' (model, stream) {
    const agent = new Agent({ name: 'Weather', model, tools: [getWeather] })
    const session = new MemorySession()
    await ask(agent, call, stream, { session })
    await ask(agent, 'SAY And tomorrow?', stream, { session })
    assert.ok((await session.getItems()).length >= 6)
    const first = await new Runner().run(agent, call)
    const { finalOutput, history } = await ask(agent, 'SAY Tomorrow too.', stream, { previousResponseId: first.lastResponseId })
    if (obeys(model)) assert.equal(finalOutput, 'Tomorrow too.')
    const again = await ask(agent, [...first.history, ...history, { role: 'user', content: 'SAY Bye' }], stream)
    if (obeys(model)) assert.equal(again.finalOutput, 'Bye')
  }
})
