import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { dialects } from '../../services/providers/openai/dialects.ts'
import { chunksOf, wholeOf, type Said, type Wire } from '../fixtures/dialects/wire.ts'
import { wires } from '../fixtures/dialects/wires.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { document, events, finish, head, send, sequence, startUpstream, type Script } from '../servers/upstream.ts'
import { clients } from './clients.ts'
import { openaiSchema } from './openai-schemas.ts'

// What each provider says in its own form, read with the official SDK behind the gateway, and its charge.

const upstream = await startUpstream()
t.teardown(() => upstream.close())

/** 1000 nano-USD per token of the prompt, 4000 per token of the answer. */
const rates = {
  inputPico: 1_000_000,
  outputPico: 4_000_000,
  cacheReadPico: null,
  cacheWritePico: null,
  imageNano: null,
  secondNano: null,
  searchNano: 0
}
const providers = Object.keys(wires).map(dialect => providerAt(upstream.url, { id: dialect, dialect }))
const gateway = await startGateway(t, {
  config: {
    ...configFor(providerAt(upstream.url)),
    providers,
    models: providers.flatMap(provider => {
      const deployments = [{ provider: provider.id, model: wires[provider.id]?.model ?? '', weight: 1, priority: 0 }]
      return configFor(provider, { id: provider.id, deployments, price: rates, maxOutput: 1000 }).models
    })
  }
})
const client: OpenAI = clients['openai 7'](gateway)
const isCompletion = openaiSchema('CreateChatCompletionResponse')
const isChunk = openaiSchema('CreateChatCompletionStreamResponse')

/**
 * OpenAI's own answers lack members that the specification requires, and have a fingerprint of null; each
 * provider has its own names of service tiers.
 */
function asSpecified (body: OpenAI.ChatCompletion): object {
  const { system_fingerprint: _, service_tier: __, ...others } = body
  const choices = body.choices.map(choice => {
    const { message, logprobs = null } = choice
    return { ...choice, logprobs, message: { ...message, refusal: message.refusal ?? null } }
  })
  return { ...others, choices }
}

/** Azure's first chunk, which has no choices, and those of Moonshot have no name of their kind. */
function chunkAsSpecified ({ system_fingerprint: _, object, ...chunk }: OpenAI.ChatCompletionChunk): object {
  return { ...chunk, object: object || 'chat.completion.chunk' }
}

const call = (id: string, args: string) => ({ id, name: 'weather', args })
const subjects: Record<string, Said> = {
  text: { text: 'Hello there.' },
  reasoning: { thoughts: 'Let me see.', text: 'Four.' },
  'a tool': { calls: [call('call_1', '{"city":"Oslo"}')] },
  'parallel tools': { calls: [call('call_1', '{"city":"Oslo"}'), call('call_2', '{"city":"Rome"}')] },
  'a tool without arguments': { calls: [call('call_1', '{}')] },
  refusal: { refusal: 'I cannot help with that.' }
}

const stream = (chunks: readonly unknown[]): Script => {
  const pieces = events(chunks).map(event => Buffer.from(event))
  return sequence(head({ 'content-type': 'text/event-stream' }), send(pieces), finish)
}

const tools = [{ type: 'function' as const, function: { name: 'weather' } }]
const asking = (model: string) => ({ model, messages: [{ role: 'user' as const, content: 'Hi' }], tools })

/** What a message says, for comparison with what was said. */
function heard (message: OpenAI.ChatCompletionMessage & { reasoning_content?: unknown } | undefined): object {
  const calls = message?.tool_calls?.map(one => one.type === 'function' ? { id: one.id, ...one.function } : one)
  return {
    text: message?.content ?? '',
    refusal: message?.refusal ?? '',
    calls: calls ?? [],
    thoughts: message?.reasoning_content ?? ''
  }
}

function expected (wire: Wire, { text = '', thoughts = '', calls = [], refusal = '' }: Said): object {
  const isFiltered = wire.refusal !== undefined && refusal !== ''
  return {
    text: isFiltered ? refusal : text,
    refusal: isFiltered ? '' : refusal,
    calls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
    thoughts: wire.thoughts === null ? '' : thoughts
  }
}

function usageOf ({ counted: { prompt, completion } }: Wire): object {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** The cost in the log of the last answer, and that of the tokens. */
function checkCharge (t: Test, { counted: { prompt, completion } }: Wire, provider: string): void {
  const line = gateway.lines.findLast(one => one.provider === provider && one.costUsd !== undefined)
  t.equal(Math.round(Number(line?.costUsd) * 1e9), prompt * 1000 + completion * 4000, 'charged exactly')
}

for (const [name, wire] of Object.entries(wires)) {
  for (const [subject, said] of Object.entries(subjects)) {
    t.test(`${name}: ${subject}`, async t => {
      upstream.script(document(JSON.stringify(wholeOf(wire, said))))
      const whole = await client.chat.completions.create(asking(name))
      t.equal(isCompletion(asSpecified(whole)), null, 'whole: valid')
      t.same(heard(whole.choices[0]?.message), expected(wire, said), 'whole')
      t.match(whole.usage, usageOf(wire), 'whole: usage')
      checkCharge(t, wire, name)

      upstream.script(stream(chunksOf(wire, said)))
      const counting = { ...asking(name), stream_options: { include_usage: true } }
      const running = client.chat.completions.stream(counting)
      const chunks: OpenAI.ChatCompletionChunk[] = []
      running.on('chunk', chunk => { chunks.push(structuredClone(chunk)) })
      const streamed = await running.finalChatCompletion()
      const problems = chunks.map(chunk => isChunk(chunkAsSpecified(chunk)))
      t.same(problems.filter(problem => problem !== null), [], 'streamed: valid')
      // The SDK's helper keeps only the last piece of members that it does not know.
      const deltas = chunks.map(chunk => chunk.choices[0]?.delta ?? {})
      const thoughts = deltas.map(delta => Reflect.get(delta, 'reasoning_content') ?? '').join('')
      t.same({ ...heard(streamed.choices[0]?.message), thoughts }, expected(wire, said), 'streamed')
      t.match(chunks.at(-1)?.usage, usageOf(wire), 'streamed: usage')
      t.equal(streamed.choices[0]?.finish_reason, whole.choices[0]?.finish_reason, 'the same end')
      checkCharge(t, wire, name)
    })
  }

  t.test(`${name}: an error`, async t => {
    const { status, body, says } = wire.error
    for (const isStream of [false, true]) {
      upstream.script(document(JSON.stringify(body), { status }))
      const asked = client.chat.completions.create({ ...asking(name), stream: isStream })
      const failure = await asked.catch((error: unknown) => error)
      t.ok(failure instanceof OpenAI.BadRequestError, `${failure}`)
      if (failure instanceof OpenAI.APIError) t.match(failure.message, says)
    }
  })
}

t.test('dropped parameters are named, in streamed answers too', async t => {
  const wire = wires.xai
  if (wire === undefined) return t.fail()
  for (const isStream of [false, true]) {
    const said = { text: 'Hello there.' }
    upstream.script(isStream ? stream(chunksOf(wire, said)) : document(JSON.stringify(wholeOf(wire, said))))
    const question = { ...asking('xai'), stop: 'END', stream: isStream }
    const answer = await client.chat.completions.create(question).asResponse()
    t.equal(answer.headers.get('x-tollgate-dropped-params'), 'stop')
    await answer.text()
  }
})

t.test('every hosted dialect has its answers', async t => {
  const unrecorded = ['bedrock', 'compatible', 'deepinfra', 'huggingface', 'litellm', 'sglang', 'llamacpp', 'lmstudio']
  t.same(Object.keys(dialects).filter(name => !(name in wires) && !unrecorded.includes(name)), [])
})
