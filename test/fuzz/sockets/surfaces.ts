import { pngOf } from '../../services/media/samples.ts'
import { isText, type JsonObject } from '../../../services/shared/json.ts'
import type { Random } from '../../services/billing/ledger/random.ts'
import { oddText } from './texts.ts'

/** What is known about a place that requests go to, beside what the OpenAPI document says. */
export interface Surface {
  /** How often it is chosen; a place without a row has 1. */
  weight: number
  /** Names for the field `model`. */
  models?: readonly string[]
  /** A sensible body, of which the fuzz makes others. */
  example? (random: Random): JsonObject
  /** What is wrong with the body of an error; by default it has OpenAI's shape. */
  errorProblem? (body: unknown): string | null
  /** What is wrong with a stream that has arrived as a whole; by default it is one of OpenAI's. */
  streamProblem? (text: string): string | null
  /** Answers of a provider that speaks the place's own protocol pass as they came. */
  isNative?: boolean
  /** Every 200 has an entry in the books with the request's id. */
  isCharged?: boolean
  /** The answer is a stream that goes on until its client leaves. */
  isEndless?: boolean
}

const sandboxText = ['sandbox-chat', 'm-emoji-😀']
const hostileText = ['odd-chat', 'odd-reasoning', 'odd-claude', 'odd-gemini']
const policies = ['auto', 'auto:cost', 'auto:quality', 'auto:speed', 'auto:emoji']
/** Models of text: of the sandbox, of the provider that answers in every way, and the ones that choose. */
export const textModels = [...sandboxText, ...sandboxText, ...hostileText, ...policies] as const
const imageModels = ['sandbox-image', 'odd-image']
const videoModels = ['sandbox-video', 'v-emoji-😀', 'odd-video', 'odd-video']

/** Where no server listens; the gateway trusts it all the same. */
export const webhookOrigin = 'http://127.0.0.1:9'
const refusedWebhook = `${webhookOrigin}/hook`
const picture = `data:image/png;base64,${pngOf(4, 4).toString('base64')}`

/** Places with fields of their own; every other one of the OpenAPI document is fuzzed by its schema. */
export const surfaces: Readonly<Record<string, Surface>> = {
  'post /v1/chat/completions': { weight: 60, models: [...textModels, ...textModels, ...imageModels], example: chatExample, isCharged: true },
  'post /v1/responses': { weight: 10, models: textModels, example: responseExample, streamProblem: namedStreamProblem },
  'post /v1/responses/input_tokens': { weight: 2, models: textModels, example: responseExample },
  'post /v1/messages': {
    weight: 10,
    models: textModels,
    example: messageExample,
    errorProblem: anthropicErrorProblem,
    streamProblem: namedStreamProblem,
    isNative: true
  },
  'post /v1/messages/count_tokens': {
    weight: 2, models: textModels, example: messageExample, errorProblem: anthropicErrorProblem
  },
  'post /v1/completions': { weight: 14, models: [...textModels, ...videoModels], example: completionExample, isCharged: true },
  'post /v1/images/generations': { weight: 5, models: [...imageModels, 'sandbox-chat'], example: imageExample },
  'post /v1/videos': { weight: 4, models: [...videoModels, 'sandbox-chat'], example: createVideoExample },
  'get /v1/videos': { weight: 1 },
  'post /v1/routing/decisions': { weight: 8, models: textModels, example: chatExample },
  'get /v1/models': { weight: 2 },
  'get /v1/models/{id}': { weight: 2 },
  'get /healthz': { weight: 0.2 },
  'get /metrics': { weight: 0.1 },
  // A check of the books takes a while.
  'get /admin/live': { weight: 0.25, isEndless: true },
  'post /admin/ledger/check': { weight: 0.02 }
}

/** The videos of chat completions: their jobs take time, so they are a place of their own. */
export const videoSurface: Surface = { weight: 2.5, models: videoModels, example: videoExample }

function responseExample (random: Random): JsonObject {
  const input = random.next() < 0.5 ? textOf(random) : [{ role: 'user', content: textOf(random) }]
  const instructions = textOf(random)
  return { input, ...random.pick([{}, { stream: true }, { max_output_tokens: 20 }, { instructions }]) }
}

function messageExample (random: Random): JsonObject {
  const text = textOf(random)
  const messages = [{ role: 'user', content: random.next() < 0.7 ? text : [{ type: 'text', text }] }]
  return { messages, max_tokens: 50, ...random.pick([{}, { stream: true }, { system: textOf(random) }]) }
}

/** What is wrong with an error in Anthropic's shape. */
function anthropicErrorProblem (body: unknown): string | null {
  const error: unknown = Object(body).error
  // Before the request was read, it is not known whose API it is for.
  if (Object(error).code === 'bad_request') return null
  const isRight = Object(body).type === 'error' && [Object(error).type, Object(error).message].every(isText)
  return isRight ? null : `an error without Anthropic's shape: ${JSON.stringify(body)?.slice(0, 300)}`
}

/** What is wrong with a stream of events with names, whose data have them as their type. */
function namedStreamProblem (text: string): string | null {
  const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)
  const last = names.at(-1) ?? ''
  const isEnd = /^(message_stop|error|response\.(completed|incomplete|failed))$/.test(last)
  return isEnd ? null : `a stream that ends with '${last}'`
}

function textOf (random: Random): string {
  return random.weighted<() => string>([
    [5, () => `Question ${random.integer(0, 50)}`], [5, () => oddText(random)], [1, () => `Repeat exactly: ${oddText(random, 3_000)}`],
    [1, () => 'sandbox:error mid-stream'], [1, () => `sandbox:error ${random.pick(['400', '429', '500', '503', 'timeout', 'moderated'])}`]
  ])()
}

function partsOf (random: Random): unknown {
  if (random.next() < 0.7) return textOf(random)
  return Array.from({ length: random.integer(1, 3) }, () => random.pick<unknown>([
    { type: 'text', text: textOf(random) }, { type: 'image_url', image_url: { url: picture } },
    { type: 'image_url', image_url: { url: random.pick(['http://127.0.0.1/a.png', 'https://localhost/a.png', oddText(random, 300)]) } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }, { type: 'file', file: { filename: oddText(random, 30), file_data: 'data:application/pdf;base64,AAAA' } }
  ]))
}

const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string', pattern: '^[a-z]+$' } } } } }]

function chatExample (random: Random): JsonObject {
  const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: oddText(random, 300) } }
  const messages = random.weighted<unknown[]>([
    [8, [{ role: 'user', content: partsOf(random) }]],
    [2, [{ role: 'system', content: textOf(random) }, { role: 'user', content: partsOf(random), name: 'a' }]],
    [2, [{ role: 'user', content: 'a' }, { role: 'assistant', content: null, tool_calls: [call] }, { role: 'tool', tool_call_id: 'c1', content: oddText(random, 300) }]],
    [1, Array.from({ length: random.integer(3, 200) }, (_, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: `turn ${at}` }))]
  ])
  const stream = random.next() < 0.5
  const fields: readonly JsonObject[] = [
    { tools }, { tools, tool_choice: 'required' }, { response_format: { type: 'json_object' } }, { logprobs: true, top_logprobs: 5 }, { n: 3 },
    { stop: [oddText(random, 30)] }, { temperature: 0 }, { max_tokens: 5 }, { reasoning_effort: 'high' }, { metadata: { project: oddText(random, 300) } },
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object', properties: { [oddText(random, 30)]: { type: 'string' } } } } } },
    { fallbacks: ['sandbox-chat', oddText(random, 300)] }, { routing: { cost_quality: 3 } }, { user: oddText(random, 300) }, { prompt_cache_key: oddText(random, 300) }, {}
  ]
  return {
    messages,
    ...random.pick(fields),
    ...(random.next() < 0.4 ? random.pick(fields) : {}),
    ...(stream ? { stream, ...(random.next() < 0.5 && { stream_options: { include_usage: true } }) } : {})
  }
}

function completionExample (random: Random): JsonObject {
  const prompt = random.weighted<unknown>([[6, textOf(random)], [1, [textOf(random), 'b']], [1, [1, 2, 3]], [1, [[1], [2]]]])
  const fields: readonly JsonObject[] = [
    {}, { stream: true }, { n: 2, best_of: 2 }, { logprobs: 3 }, { echo: true },
    { suffix: oddText(random, 300) }, { max_tokens: 3 }
  ]
  return { prompt, ...random.pick(fields) }
}

function imageExample (random: Random): JsonObject {
  return { prompt: textOf(random), size: '64x64', ...random.pick([{}, { n: 2 }, { response_format: 'b64_json' }, { quality: 'low' }, { user: oddText(random, 300) }]) }
}

function createVideoExample (random: Random): JsonObject {
  const usual = () => `a ball ${random.integer(0, 1e6)}\nsandbox:delay 0`
  const prompt = random.weighted<() => string>([[4, usual], [2, () => oddText(random)]])()
  const image = random.pick([picture, 'data:image/png;base64,AAAA', 'https://localhost/a.png', oddText(random, 300)])
  const address = random.pick(['https://127.0.0.1/', 'https://localhost/', 'http://a.example/', oddText(random, 300)])
  const fields: readonly JsonObject[] = [
    {}, {}, { audio: true }, { seed: random.integer(-5, 1e9) }, { aspect_ratio: '9:16' },
    { input_reference: image }, { input_reference: { image_url: image } },
    { input_reference: picture, last_frame: image },
    { seconds: random.integer(-1, 100) }, { seconds: oddText(random, 30) }, { size: oddText(random, 30) },
    { metadata: { project: oddText(random, 300) } },
    { webhook_url: refusedWebhook }, { webhook_url: `${refusedWebhook}?${oddText(random, 300)}` }, { webhook_url: address }
  ]
  return { prompt, seconds: '2', size: '320x180', ...random.pick(fields), ...random.pick(fields) }
}

function videoExample (random: Random): JsonObject {
  const text = random.weighted<() => string>([[3, () => `a ball ${random.integer(0, 1e6)}`], [3, () => oddText(random)], [2, () => `${oddText(random, 300)} https://127.0.0.1/a.png`]])()
  const parts = [{ type: 'text', text }, { type: 'image_url', image_url: { url: random.pick([picture, 'data:image/png;base64,AAAA', 'https://localhost/a.png', oddText(random, 300)]) } }]
  return {
    messages: [{ role: 'user', content: random.next() < 0.7 ? `${text}\nsandbox:delay 0` : parts }],
    video: random.next() < 0.8 ? { seconds: 2, size: '320x180' } : { seconds: random.integer(-1, 100) },
    ...(random.next() < 0.3 ? { stream: true } : {})
  }
}
