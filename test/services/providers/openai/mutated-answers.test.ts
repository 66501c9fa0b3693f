import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { ChatCompletion } from '../../../../schemas/openai/chat-completions.ts'
import { Completion } from '../../../../schemas/openai/completions.ts'
import { dialects, type Dialect } from '../../../../services/providers/openai/dialects.ts'
import { StreamRepair } from '../../../../services/providers/openai/stream-repair.ts'
import { maxChoices, repairResponse, withUsage } from '../../../../services/providers/openai/translate.ts'
import { isObject, type JsonObject } from '../../../../services/shared/json.ts'
import { mutate } from '../../../fuzz/sockets/generate.ts'
import { createRandom } from '../../billing/ledger/random.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false, discriminator: true })
const isChat = ajv.compile(ChatCompletion)
const isLegacy = ajv.compile(Completion)
const compatible = dialectOf('compatible')
const heads = {
  chat: { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  legacy: { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'm' },
  chunk: { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' }
}
const details = {
  prompt_tokens_details: { cached_tokens: 1 }, completion_tokens_details: { reasoning_tokens: 1 }
}
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, ...details }
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const common = { id: 'x', created: 1, model: 'm', service_tier: 'default', system_fingerprint: null, metadata: { a: 'b' }, usage }
const chat = {
  ...common,
  choices: [{
    index: 0,
    message: {
      role: 'assistant',
      content: 'Hi',
      refusal: null,
      tool_calls: [call, { id: 'd', type: 'custom', custom: { name: 'g', input: 'i' } }],
      function_call: { name: 'f', arguments: '{}' },
      annotations: [{}],
      audio: { id: 'a' }
    },
    finish_reason: 'stop',
    logprobs: null
  }]
}
const legacy = { ...common, choices: [{ index: 0, text: 'Hi', finish_reason: 'stop', logprobs: null }] }
const delta = { ...common, usage: null, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi', tool_calls: [{ index: 0, ...call }] }, finish_reason: null }] }

function repairOf (hideUsage: boolean): StreamRepair {
  const form = { dialect: compatible, secret: null, hideUsage, fallback: heads.chunk, choices: 1 }
  return new StreamRepair(form, new Map())
}

function changed (value: object, seed: number): JsonObject | null {
  const random = createRandom(seed)
  const result = mutate(value, random, random.integer(1, 4))
  return isObject(result) ? result : null
}

t.test('a whole answer of any shape becomes one of OpenAI\'s', async t => {
  for (let seed = 0; seed < 1_000; seed++) {
    const kinds = [[chat, heads.chat, isChat], [legacy, heads.legacy, isLegacy]] as const
    for (const [answer, head, isRight] of kinds) {
      const given = changed(answer, seed)
      // Without a choice it is no answer, which is found before.
      if (given === null || !Array.isArray(given['choices']) || !given['choices'].some(isObject)) continue
      const whole = repairResponse(withUsage(given, compatible), compatible, head, 1)
      const repaired = JSON.parse(JSON.stringify(whole))
      if (!isRight(repaired)) return t.fail(`seed ${seed}: ${JSON.stringify(isRight.errors?.[0])} in ${JSON.stringify(given).slice(0, 600)}`)
    }
  }
})

t.test('an answer that needs nothing is not changed', async t => {
  const given = { ...legacy, object: 'text_completion' }
  t.equal(repairResponse(given, compatible, heads.legacy, 1), given)
})

t.test('a chunk of any shape has choices with deltas, and usage only in an object', async t => {
  for (let seed = 0; seed < 1_000; seed++) {
    const given = changed(delta, seed)
    if (given === null) continue
    const repair = repairOf(false)
    const pieces = [...repair.take(given, null), ...repair.end()]
    const chunks = pieces.map(piece => JSON.parse(piece.toString().slice(6)))
    const isRight = chunks.every(({ choices, usage }) => (usage == null || isObject(usage)) &&
      Array.isArray(choices) &&
      choices.every(choice => isObject(choice) && isObject(choice['delta']) && Number.isInteger(choice['index'])))
    if (!isRight) return t.fail(`seed ${seed}: ${JSON.stringify(chunks).slice(0, 600)}`)
  }
})

t.test('choices and tool calls that nobody can have asked for are left out', async t => {
  const many = (length: number, make: (at: number) => object) => Array.from({ length }, (_, at) => make(at))
  const flood = { ...chat, choices: many(50_000, () => ({})) }
  t.equal((repairResponse(flood, compatible, heads.chat, 1)['choices'] as unknown[]).length, maxChoices)
  t.equal((repairResponse(flood, compatible, heads.chat, 300)['choices'] as unknown[]).length, 300, 'a list of prompts')

  const repair = repairOf(true)
  let chunks = 0
  for (let index = 0; index < 5_000; index++) {
    chunks += repair.take({ choices: [{ index, delta: { content: 'a' } }] }, null).length
  }
  t.equal(chunks, maxChoices)
  t.equal(repair.end().length, maxChoices)
  const calls = many(5_000, index => ({ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } }))
  const whole = { ...chat, choices: [{ message: { tool_calls: calls } }] }
  t.ok(JSON.stringify(repairResponse(whole, compatible, heads.chat, 1)).length < 100_000)
})

function dialectOf (name: string): Dialect {
  const dialect = dialects[name]
  if (dialect === undefined) throw new Error(`no dialect ${name}`)
  return dialect
}
