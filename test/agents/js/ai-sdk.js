import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { generateObject, generateText, isStepCount, Output, streamObject, streamText, tool } from 'ai'
import { z } from 'zod'
import { apiKey, judge, obeys, origin } from './judge.js'

// The AI SDK with `openai()`, which is the Responses API, and with `anthropic()`.

globalThis.AI_SDK_LOG_WARNINGS = false
const openai = createOpenAI({ baseURL: `${origin}/v1`, apiKey })
const anthropic = createAnthropic({ baseURL: `${origin}/v1`, apiKey })
const clients = {
  openai: { of: openai, thinking: { openai: { reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true } } },
  'openai, not stored': {
    of: openai,
    thinking: {
      openai: { reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true, store: false, include: ['reasoning.encrypted_content'] }
    }
  },
  anthropic: { of: anthropic, thinking: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } } }
}

const tools = {
  get_weather: tool({
    description: 'Tells the weather in a city.', inputSchema: z.object({ city: z.string() }), execute: async () => 'Sunny, 25 °C'
  }),
  get_time: tool({
    description: 'Tells what the clock shows.', inputSchema: z.object({ zone: z.string() }), execute: async () => '12:30'
  })
}
const schema = z.object({ city: z.string() })

async function ask (options, stream) {
  const all = { maxRetries: 0, ...options }
  if (!stream) return await generateText(all)
  const errors = []
  const result = streamText({ ...all, onError: ({ error }) => { errors.push(error) } })
  let streamed = ''
  for await (const piece of result.textStream) streamed += piece
  if (errors.length > 0) throw errors[0]
  const [text, steps, usage, finishReason, response, reasoningText] = await Promise.all([
    result.text, result.steps, result.usage, result.finishReason, result.response, result.reasoningText
  ])
  assert.ok(streamed.endsWith(text))
  return { text, steps, usage, finishReason, response, reasoningText }
}

/** The object of a stream, which comes when all of it was read. */
async function gathered ({ partialObjectStream, object }) {
  let last
  for await (const partial of partialObjectStream) last = partial
  assert.deepEqual(last, await object)
  return { object: last }
}

const each = run => async (model, stream) => {
  for (const [name, { of, thinking }] of Object.entries(clients)) {
    try {
      await run(of(model), { model, stream, thinking })
    } catch (error) {
      throw new Error(name, { cause: error })
    }
  }
}

await judge({
  answers: each(async (client, { model, stream }) => {
    const { text, usage, finishReason } = await ask({ model: client, system: 'Be brief.', prompt: 'SAY Grüße 👩‍👩‍👧‍👦' }, stream)
    if (obeys(model)) assert.equal(text, 'Grüße 👩‍👩‍👧‍👦')
    assert.equal(finishReason, 'stop')
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0)
  }),
  'runs tools in steps': each(async (client, { model, stream, thinking }) => {
    const prompt = 'THINK It may rain.\nCALL get_weather {"city": "Paris"}\nCALL get_time {"zone": "CET"}'
    const options = { model: client, tools, stopWhen: isStepCount(5), providerOptions: thinking }
    const { text, steps, response } = await ask({ ...options, messages: [{ role: 'user', content: prompt }] }, stream)
    assert.match(text, /Sunny, 25 °C/)
    if (!obeys(model)) return
    assert.equal(text, 'Sunny, 25 °C | 12:30')
    assert.deepEqual(steps.map(step => step.toolCalls.map(({ toolName }) => toolName)), [['get_weather'], ['get_time'], []])
    assert.equal(steps[0].reasoningText, 'It may rain.')
    const lost = steps.flatMap(({ warnings = [] }) => warnings).filter(({ message = '' }) => message.includes('easoning'))
    assert.deepEqual(lost, [], 'the thoughts go back')
    const all = steps.flatMap(step => step.response.messages)
    const messages = [{ role: 'user', content: prompt }, ...all, { role: 'user', content: 'SAY Bye' }]
    assert.ok(response.messages.length > 0)
    assert.equal((await ask({ ...options, messages }, stream)).text, 'Bye')
  }),
  'returns objects': each(async (client, { model, stream }) => {
    const prompt = 'JSON {"city": "Paris"}'
    const options = { model: client, schema, prompt, maxRetries: 0 }
    const { object } = stream
      ? await gathered(streamObject({ ...options, onError () {} }))
      : await generateObject(options)
    assert.equal(typeof object.city, 'string')
    if (obeys(model)) assert.deepEqual(object, { city: 'Paris' })
    const output = Output.object({ schema })
    const { output: again } = await generateText({ model: client, output, prompt, maxRetries: 0 })
    assert.equal(typeof again.city, 'string')
  })
})
