import { getActiveResourcesInfo } from 'node:process'
import t from 'tap'
import type { ChatCompletionChunk } from '../../../../schemas/openai/chat-completions.ts'
import { createSandboxChat } from '../../../../services/providers/sandbox/chat.ts'
import { callOf, complete, reply, stream } from './helper.ts'

const question = 'How do I brew coffee at home?'
const tools = [
  { type: 'function', function: { name: 'get_weather', parameters: { properties: { city: { type: 'string' } } } } }
] as const

const deltasOf = (chunks: ChatCompletionChunk[]) =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))

async function open (
  pieceMs: number, signal: AbortSignal, n = 1
): Promise<AsyncIterator<ChatCompletionChunk>> {
  const call = callOf(question, { stream: true, n }, signal)
  const answer = await createSandboxChat({ pieceMs }).chat(call)
  if (answer.kind !== 'chunks') throw new Error(answer.kind)
  return answer.chunks[Symbol.asyncIterator]()
}

t.test('streams the same text as the whole completion', async t => {
  const { chunks } = await stream(question)
  const deltas = deltasOf(chunks)
  t.strictSame(deltas[0], { role: 'assistant', content: '', refusal: null })
  t.strictSame(deltas.at(-1), {})
  t.equal(deltas.map(({ content }) => content ?? '').join(''), await reply(question))
  t.ok(deltas.length > 20)
  t.same(new Set(deltas.slice(1, -1).map(delta => Object.keys(delta).join())), new Set(['content']))
})

t.test('gives all chunks the same id, and a finish reason only to the last of a choice', async t => {
  const { chunks } = await stream(question)
  t.equal(new Set(chunks.map(({ id, created, model, object, system_fingerprint: fingerprint }) =>
    [id, created, model, object, fingerprint].join())).size, 1)
  const reasons = chunks.flatMap(({ choices }) => choices.map(choice => choice.finish_reason))
  t.strictSame(reasons, [...reasons.slice(1).map(() => null), 'stop'])
})

t.test('ends with the usage of the whole completion, and reports it', async t => {
  const { usage } = await complete(question, { n: 2 })
  const { chunks, report } = await stream(question, { n: 2 })
  t.strictSame(chunks.at(-1)?.choices, [])
  t.same(chunks.at(-1)?.usage, usage)
  t.ok(chunks.slice(0, -1).every(chunk => chunk.usage === undefined))
  t.match(report, {
    usage: { prompt: usage?.prompt_tokens, completion: usage?.completion_tokens }, model: 'sandbox-chat', dropped: []
  })
})

t.test('interleaves the choices', async t => {
  const { choices } = await complete(question, { n: 3 })
  const { chunks } = await stream(question, { n: 3 })
  t.same(chunks.slice(0, 6).map(chunk => chunk.choices[0]?.index), [0, 1, 2, 0, 1, 2])
  for (const { index, message } of choices) {
    const own = chunks.flatMap(chunk => chunk.choices).filter(choice => choice.index === index)
    t.equal(own.map(({ delta }) => delta.content ?? '').join(''), message.content)
    t.equal(own.at(-1)?.finish_reason, 'stop')
  }
})

t.test('streams tool calls: first the name, then the arguments', async t => {
  const { chunks } = await stream('The weather in Rome and at "home"', { tools: [...tools] })
  const deltas = deltasOf(chunks)
  t.strictSame(deltas[0], { role: 'assistant', content: null, refusal: null })
  t.match(deltas[1]?.tool_calls, [{ index: 0, id: /^call_/, type: 'function', function: { name: 'get_weather', arguments: '' } }])
  const pieces = deltas.slice(2, -1).flatMap(({ tool_calls: calls }) => calls ?? [])
  t.ok(pieces.every(({ index, id, type }) => index === 0 && id === undefined && type === undefined))
  t.same(JSON.parse(pieces.map(piece => piece.function?.arguments).join('')), { city: 'home' })
  t.ok(pieces.length > 2)
  t.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls')
})

t.test('streams deprecated function calls', async t => {
  const { chunks } = await stream('The weather in Rome', { functions: [tools[0].function] })
  const deltas = deltasOf(chunks)
  t.strictSame(deltas[1], { function_call: { name: 'get_weather', arguments: '' } })
  t.same(JSON.parse(deltas.map(delta => delta.function_call?.arguments ?? '').join('')), { city: 'Rome' })
  t.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'function_call')
})

t.test('streams custom tool calls', async t => {
  const answer = await createSandboxChat({ pieceMs: 0 })
    .chat(callOf('Take a note', { stream: true, tools: [{ type: 'custom', custom: { name: 'note' } }] }))
  const deltas = answer.kind === 'chunks' ? deltasOf(await Array.fromAsync(answer.chunks)) : []
  const calls = deltas.flatMap(delta => delta.tool_calls ?? [])
  t.match(calls[0], { index: 0, id: /^call_/, type: 'custom', custom: { name: 'note', input: '' } })
  t.equal(calls.map(({ custom }) => custom?.input).join(''), 'Take a note')
})

t.test('includes the log probabilities of each chunk', async t => {
  const { choices } = await complete(question, { logprobs: true, top_logprobs: 2 })
  const { chunks } = await stream(question, { logprobs: true, top_logprobs: 2 })
  const streamed = chunks.flatMap(chunk => chunk.choices[0]?.logprobs?.content ?? [])
  t.same(streamed, choices[0]?.logprobs?.content)
})

t.test('pauses between chunks', async t => {
  const pieces = await open(20, new AbortController().signal)
  const startedAt = performance.now()
  for (let i = 0; i < 4; i++) await pieces.next()
  // A timer may fire up to a millisecond early.
  t.ok(performance.now() - startedAt >= 3 * 19)
  await pieces.return?.()
})

t.test('stops at once when aborted, and leaves no timer', async t => {
  const timers = (): number => getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  const aborter = new AbortController()
  const pieces = await open(60_000, aborter.signal)
  await pieces.next()
  const second = pieces.next()
  t.equal(timers(), before + 1)
  aborter.abort()
  await t.rejects(second, { name: 'UpstreamError', kind: 'aborted' })
  t.equal(timers(), before)
  t.same(await pieces.next(), { value: undefined, done: true })
})

t.test('stops without a pause when aborted', async t => {
  const aborter = new AbortController()
  const single = await open(0, aborter.signal)
  const several = await open(0, aborter.signal, 2)
  await single.next()
  await several.next()
  aborter.abort()
  await t.rejects(single.next(), { name: 'UpstreamError', kind: 'aborted' })
  await t.rejects(several.next(), { name: 'UpstreamError', kind: 'aborted' })
  await t.rejects(open(0, aborter.signal), { name: 'UpstreamError', kind: 'aborted' })
})
