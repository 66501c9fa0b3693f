import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { dialects } from '../../services/providers/openai/dialects.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { findPython } from '../helpers/python.ts'
import { document, finish, head, send, sequence, startUpstream, type Script } from '../servers/upstream.ts'
import { clients } from './clients.ts'
import { findLangChain } from './langchain.ts'
import { oddAnswers, type Meaning, type OddAnswer } from './odd-answers.ts'
import { openaiSchema } from './openai-schemas.ts'
import { startPythonClient } from './python-client.ts'

// Answers of compatible servers become answers that OpenAI could have sent. The clients are the judges.

const upstream = await startUpstream()
t.teardown(() => upstream.close())
const base = configFor(providerAt(upstream.url))
const config = {
  ...base,
  providers: Object.keys(dialects).map(dialect => providerAt(upstream.url, { id: dialect, dialect })),
  models: Object.keys(dialects).flatMap(dialect => {
    const deployments = [{ provider: dialect, model: 'some-model', weight: 1, priority: 0 }]
    return configFor(providerAt(upstream.url), { id: dialect, deployments }).models
  })
}
const gateway = await startGateway(t, { config })

const names = ['get_weather', 'get_time']
const parameters = { type: 'object' as const, properties: {} }
const functions = names.map(name => ({ type: 'function' as const, function: { name, parameters } }))
const messages = [{ role: 'user' as const, content: 'Hi' }]

function asEvents (events: readonly (object | string)[], type = 'text/event-stream'): Script {
  const pieces = events.map(event => Buffer.from(typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`))
  return sequence(head({ 'content-type': type }), send(pieces), finish)
}

const asDocument = (body: object): Script => document(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })

interface Message {
  content?: string | null
  reasoning_content?: string
  tool_calls?: { id: string, type: string, function?: { name: string, arguments: string } }[] | null
}

/** What the official client has understood. */
function meaningOf (
  { message, finish_reason: finish }: { message: Message, finish_reason: string | null }
): Meaning {
  const { content, reasoning_content: reasoning } = message
  const calls = message.tool_calls ?? []
  return {
    finish: String(finish),
    ...(content ? { text: content } : {}),
    ...(reasoning ? { reasoning } : {}),
    ...(calls.length === 0
      ? {}
      : { calls: calls.map(({ function: called }) => ({ name: called?.name ?? '', input: JSON.parse(called?.arguments ?? '') })) })
  }
}

/** openai-node's stream helper keeps only the last piece of an unknown member; LangChain drops it. */
const withoutReasoning = ({ reasoning: _, ...meaning }: Meaning): Meaning => meaning

const python = await findPython()
const langChain = await findLangChain()
const pythonClient = python === null ? null : startPythonClient(python, gateway)
t.teardown(() => pythonClient?.close())
if (pythonClient === null) t.test('openai-python', { skip: 'not installed; the whole npm test does it' }, async () => {})
if (langChain === null) t.test('langchain', { skip: 'it cannot be installed' }, async () => {})

const readers: Record<string, (model: string, stream: boolean, means: Meaning) => Promise<Meaning>> = {
  async openai (model, stream) {
    const { completions } = clients['openai 7'](gateway).chat
    const body = { model, messages, tools: functions }
    const { choices: [choice] } = stream
      ? await completions.stream(body).finalChatCompletion()
      : await completions.create(body)
    if (choice === undefined) throw new Error('no choice')
    const ids = new Set(choice.message.tool_calls?.map(({ id }) => id))
    t.equal(ids.size, choice.message.tool_calls?.length ?? 0, 'each call has an id of its own')
    t.equal(choice.message.role, 'assistant')
    return withoutReasoning(meaningOf(choice))
  },
  async 'vercel ai' (model, stream) {
    const provider = createOpenAICompatible({ name: 'tollgate', baseURL: gateway.url, apiKey: gateway.key, includeUsage: true })
    const options = {
      model: provider(model),
      messages,
      maxRetries: 0,
      tools: Object.fromEntries(names.map(name => {
        return [name, tool({ inputSchema: jsonSchema<object>(parameters) })]
      }))
    }
    const answer = stream ? streamText({ ...options, onError () {} }) : await generateText(options)
    const [text, reasoning, calls, finish] = await Promise.all(
      [answer.text, answer.reasoningText, answer.toolCalls, answer.finishReason])
    return {
      finish: finish.replace('-', '_'),
      ...(text === '' ? {} : { text }),
      ...(reasoning ? { reasoning } : {}),
      ...(calls.length === 0
        ? {}
        : { calls: calls.map(({ toolName: name, input }) => ({ name, input: Object(input) })) })
    }
  },
  ...(langChain === null
    ? {}
    : {
        async langchain (model: string, stream: boolean): Promise<Meaning> {
          const options = { apiKey: gateway.key, maxRetries: 0, configuration: { baseURL: gateway.url } }
          const chat = new langChain.ChatOpenAI({ model, ...options }).bindTools(functions)
          const answer = stream
            ? (await Array.fromAsync(await chat.stream('Hi'))).reduce((one, next) => one.concat(next), new langChain.AIMessageChunk(''))
            : await chat.invoke('Hi')
          t.same(answer.invalid_tool_calls ?? [], [])
          const { content, tool_calls: calls = [], response_metadata: { finish_reason: finish } } = answer
          return {
            finish: String(finish),
            ...(content === '' ? {} : { text: String(content) }),
            ...(calls.length === 0 ? {} : { calls: calls.map(({ name, args: input }) => ({ name, input })) })
          }
        }
      }),
  ...(pythonClient === null
    ? {}
    : {
        async 'openai-python' (model: string, stream: boolean, means: Meaning): Promise<Meaning> {
          // Its stream helper takes only strict tools, and raises where a filter has ended the answer.
          const tools = functions.map(one => ({ ...one, function: { ...one.function, strict: true } }))
          const asked = pythonClient.ask({ model, messages, tools, stream })
          const answer = await asked.catch((error: unknown) => {
            if (/^ContentFilterFinishReasonError/.test(Object(error).message)) return null
            throw error
          })
          if (answer === null) return { ...means, finish: 'content_filter' }
          const [choice] = answer.choices
          if (choice === undefined) throw new Error('no choice')
          return meaningOf(choice)
        }
      })
}

/** Clients that show thoughts. */
const seesReasoning = ['vercel ai', 'openai-python']

async function post (body: object, path = '/chat/completions') {
  const answer = await request(gateway.url + path, { method: 'POST', headers: gateway.headers, body: JSON.stringify(body) })
  return { status: answer.statusCode, text: await answer.body.text() }
}

const isChunk = openaiSchema('CreateChatCompletionStreamResponse')
const isAnswer = openaiSchema('CreateChatCompletionResponse')

interface Delta { role?: string, tool_calls?: { index: number, id?: string }[] }

interface Chunk {
  id: string
  choices: { index: number, delta: Delta, finish_reason: string | null }[]
  usage?: object | null
}

/** What a server counts in all these answers, if it counts. */
const counted = { prompt_tokens: 8, completion_tokens: 5, total_tokens: 13 }

/** Whether a server counts, in whatever place. */
const counts = (answer: unknown): boolean => JSON.stringify(answer).includes(JSON.stringify(counted))

/** The counts of the last answer, as they are booked. */
function checkBooked (t: Test): void {
  const line = gateway.lines.findLast(({ msg }) => msg === 'request')
  t.match(line, { promptTokens: 8, completionTokens: 5 }, 'booked as counted')
}

/** Checks what no client does: the specification, the order of the chunks, and what is counted. */
async function checkStream (
  t: Test, model: string, sent: unknown, includeUsage: boolean
): Promise<void> {
  const options = { include_usage: includeUsage }
  const { text } = await post({ model, messages, stream: true, stream_options: options })
  const blocks = text.split('\n\n')
  t.equal(blocks.pop(), '')
  t.equal(blocks.pop(), 'data: [DONE]')
  t.ok(blocks.every(block => block.startsWith('data: {') && !block.includes('\n')), 'nothing but data')
  const chunks: Chunk[] = blocks.map(block => JSON.parse(block.slice(6)))
  for (const chunk of chunks) t.equal(isChunk(chunk), null, JSON.stringify(chunk))
  t.equal(new Set(chunks.map(({ id }) => id)).size, 1, 'one id')
  const usages = chunks.filter(({ usage }) => usage)
  t.same(usages, includeUsage ? chunks.filter(({ choices }) => choices.length === 0) : [])
  t.ok(usages.length <= 1 && (usages.length === 0 || chunks.at(-1) === usages[0]), 'usage comes last')
  if (includeUsage && counts(sent)) t.match(usages, [{ usage: counted }])
  if (counts(sent)) checkBooked(t)
  const choices = chunks.flatMap(({ choices }) => choices)
  const isLast = choices.map((_, at) => at === choices.length - 1)
  t.same(choices.map(({ finish_reason: reason }) => reason !== null), isLast)
  t.same(choices.map(({ delta }) => delta.role), choices.map((_, at) => at === 0 ? 'assistant' : undefined))
  const calls = choices.flatMap(({ delta }) => delta.tool_calls ?? [])
  const begun = calls.filter(({ id }) => id !== undefined)
  t.same(begun.map(({ index }) => index), begun.map((_, at) => at), 'calls are counted from 0')
}

async function checkAnswer (t: Test, model: string, sent: unknown): Promise<void> {
  const answer = JSON.parse((await post({ model, messages })).text)
  // The live service leaves these out too.
  for (const choice of answer.choices) {
    choice.logprobs ??= null
    choice.message.refusal ??= null
  }
  t.equal(isAnswer(answer), null, JSON.stringify(answer))
  if (!counts(sent)) return
  t.match(answer.usage, counted)
  checkBooked(t)
}

for (const [name, { seen, dialect = 'compatible', events, whole, means }] of Object.entries<OddAnswer>(oddAnswers)) {
  t.test(`${name} (${seen})`, async t => {
    for (const [client, read] of Object.entries(readers)) {
      const expected = seesReasoning.includes(client) ? means : withoutReasoning(means)
      if (events !== undefined) {
        upstream.script(asEvents(events))
        t.same(await read(dialect, true, means), expected, `${client}, streamed`)
        // The whole answer of a server that streams nevertheless.
        upstream.script(asEvents(events))
        t.same(await read(dialect, false, means), expected, `${client}, collected`)
      }
      if (whole === undefined) continue
      upstream.script(asDocument(whole))
      t.same(await read(dialect, false, means), expected, `${client}, whole`)
      // The stream of a server that does not stream.
      upstream.script(asDocument(whole))
      t.same(await read(dialect, true, means), expected, `${client}, split`)
    }
    for (const includeUsage of [true, false]) {
      if (events !== undefined) upstream.script(asEvents(events))
      if (events !== undefined) await checkStream(t, dialect, events, includeUsage)
      if (whole !== undefined) upstream.script(asDocument(whole))
      if (whole !== undefined) await checkStream(t, dialect, whole, includeUsage)
    }
    if (events !== undefined) upstream.script(asEvents(events))
    if (events !== undefined) await checkAnswer(t, dialect, events)
    if (whole !== undefined) upstream.script(asDocument(whole))
    if (whole !== undefined) await checkAnswer(t, dialect, whole)
  })
}
