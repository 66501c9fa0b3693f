import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import OpenAI from 'openai'
import { error, rateLimited, refusal, text, toolCall, useTollgate } from 'tollgate/testing'
import { answer } from './weather.ts'

const gateway = useTollgate({}, { beforeEach, afterEach })
const weatherIn = (city: string): string => `${city}: 18 °C`

test('calls the tool that the model requests, and pays for both rounds', async () => {
  gateway().model('gpt-4o').script([
    toolCall('get_weather', { city: 'Oslo' }).usage({ prompt: 50, completion: 10 }),
    text('It is 18 °C in Oslo.').usage({ prompt: 90, completion: 8 })
  ])
  const client = new OpenAI(gateway().client())
  assert.equal(await answer(client, 'How warm is it in Oslo?', weatherIn), 'It is 18 °C in Oslo.')
  const [, second] = gateway().requests
  assert.deepEqual((second?.body['messages'] as unknown[])[2], { role: 'tool', tool_call_id: 'call_1', content: 'Oslo: 18 °C' })
  assert.equal(await gateway().spent(), '0.00053')
})

test('survives a limit of the provider, and refuses what the model refuses', async () => {
  gateway().model('gpt-4o').script([rateLimited({ retryAfter: 0.01 }), refusal('No.')])
  assert.equal(await answer(new OpenAI(gateway().client()), 'How do I…', weatherIn), 'I cannot help with that.')
})

test('reports an error of the provider', async () => {
  gateway().model('gpt-4o').script([error(400, { message: 'The prompt is too odd.' })])
  await assert.rejects(answer(new OpenAI(gateway().client()), 'Hi', weatherIn), /too odd/)
})
