import { readFileSync, statSync } from 'node:fs'
import t from 'tap'
import type { AssistantMessage } from '../../../schemas/openai/chat-messages.ts'
import { bucketCount, createTextReader } from '../../../services/routing/text/reader.ts'
import { promptText } from '../../../services/routing/text/prompt-text.ts'
import { signalNames, writeSignals } from '../../../services/routing/text/signals.ts'
import { unpackWeights, type WeightsFile } from '../../../services/routing/scoring/weights.ts'
import { extractFeatures } from '../../../services/routing/request-features.ts'
import { thrown } from '../../helpers/thrown.ts'
import { routingRequest } from './helper.ts'

const file = new URL('../../../services/routing/scoring/router.json', import.meta.url)

t.test('the weights file is small and rejects other signals', async t => {
  t.ok(statSync(file).size <= 256 * 1024, `${statSync(file).size} bytes`)
  const weights: WeightsFile = JSON.parse(readFileSync(file, 'utf8'))
  t.equal(unpackWeights(weights).bucketTraits.length, bucketCount * weights.traits.kinds.length)
  t.match(thrown(() => unpackWeights({ ...weights, signals: { mean: [1], spread: [1] } })), { message: /route:train/ })
})

t.test('a text is counted by its form', async t => {
  const { read } = createTextReader()
  const text = 'Which is right?\nA. def f(x): return x + 12\nB. ```py\n  y = 3```'
  t.match(read(text), { numbers: 2, lines: 3, options: 2, indented: 1, fences: 2 })
  const out = new Float32Array(signalNames.length)
  writeSignals(read(text), out)
  t.equal(out[0], Math.fround(Math.log1p(text.length)))
  t.ok(out.every(Number.isFinite))
})

t.test('a reading does not depend on the texts before it', async t => {
  const reader = createTextReader()
  const snapshot = (text: string) => {
    const { buckets, counts, size, kinds, categories, words } = reader.read(text)
    const hits = [...buckets.subarray(0, size)].map(bucket => [bucket, counts[bucket]])
    return { hits, kinds: [...kinds], categories: [...categories], words }
  }
  const before = snapshot('The quick brown fox solves an equation.')
  for (const text of ['', '\u0000\uffff', '漢字'.repeat(500), 'a'.repeat(70_000), '` `` ``` $$ {}']) snapshot(text)
  t.strictSame(snapshot('The quick brown fox solves an equation.'), before)
  t.equal(snapshot('').words, 0)
})

t.test('the beginning and end of a long message are read, and the message before a short one', async t => {
  const long = `${'a'.repeat(9000)} the question`
  const focus = promptText([{ role: 'user', content: long }])
  t.ok(focus.length <= 6001 && focus.endsWith('the question'))
  const [first, answer] = [{ role: 'user' as const, content: 'Write a sonnet.' }, { role: 'assistant' as const, content: 'No.' }]
  t.equal(promptText([first, answer, { role: 'user', content: 'Please.' }]), 'Write a sonnet.\nPlease.')
  t.equal(promptText([{ role: 'system', content: 'Be brief.' }]), '')
})

t.test('tokens are estimated from the whole conversation', async t => {
  const tokensOf = (body: Parameters<typeof routingRequest>[0]) =>
    extractFeatures(routingRequest(body).request).promptTokens
  t.ok(tokensOf('word '.repeat(1000)) > 1000 && tokensOf('word '.repeat(1000)) < 2000)
  t.ok(tokensOf('漢'.repeat(1000)) > 800)
  const user = { role: 'user' as const, content: 'word '.repeat(100) }
  const once = tokensOf({ messages: [user] })
  t.ok(tokensOf({ messages: [user, { role: 'assistant', content: 'word '.repeat(100) }, user] }) > 2.9 * once)
  t.ok(tokensOf({ messages: [user], tools: [{ type: 'function', function: { name: 'f', description: 'x'.repeat(7000) } }] }) > once + 1900)
  const long = '漢'.repeat(7000)
  const call = { name: 'f', arguments: long }
  const answers: Partial<AssistantMessage>[] = [
    { tool_calls: [{ id: 'c', type: 'function', function: call }] }, { tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: long } }] },
    { function_call: call }, { refusal: long }, { content: [{ type: 'refusal', refusal: long }] }
  ]
  for (const answer of answers) t.ok(tokensOf({ messages: [user, { role: 'assistant', content: null, ...answer }, user] }) > 7000, JSON.stringify(answer).slice(0, 60))
  const tools = { tools: [], functions: [{ name: 'f', description: 'x'.repeat(7000) }] }
  t.equal(extractFeatures(routingRequest(tools).request).tools, 1)
  t.ok(tokensOf(tools) > 1900)
})
