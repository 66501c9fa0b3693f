import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate, setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { keepOpen } from '../helpers/keep-open.ts'

const maxBodyBytes = 64 * 2 ** 20

/** A local server that answers like api.openai.com unless a script changes that. */
export interface Upstream {
  /** Base URL for a client, e.g. `http://127.0.0.1:41234/v1`. */
  readonly url: string
  /** Every request so far whose body was read or given up, oldest first. */
  readonly requests: UpstreamRequest[]
  /** Connections that are open now. */
  readonly connections: number
  /** The first request that no earlier call has returned, waiting for it if need be. */
  nextRequest (): Promise<UpstreamRequest>
  /** Queues one script per coming POST. */
  script (...scripts: Script[]): void
  /** Answers each POST that finds no queued script, from now on. */
  always (script: Script): void
  /** Answers each `GET /v1/models`, from now on. */
  models (script: Script): void
  /** Ends all connections; throws an AggregateError when a script has failed. */
  close (): Promise<void>
}

export interface UpstreamRequest {
  /** From 0, in the order in which the requests' headers arrived. */
  readonly number: number
  readonly method: string
  /** Path and query as sent. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The parsed body; null when it is no JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null
  /** Whether the connection had carried a request before. */
  readonly reused: boolean
  /** Body bytes of the answer that were handed to the operating system, without chunk framing. */
  bytesSent: number
  /** Whether the client left before the answer was complete; final once `closed` is resolved. */
  aborted: boolean
  /** Resolves when the answer is complete or the connection has closed. */
  readonly closed: Promise<void>
}

/** How the upstream answers one request, or one step of that; runs after the body has been read. */
export type Script = (exchange: Exchange) => void | Promise<void>

export interface Exchange {
  readonly request: UpstreamRequest
  readonly response: ServerResponse
  /** Detaches the connection from HTTP, so that a close is not taken for the client's. */
  takeSocket (): Socket
}

export interface UpstreamOptions {
  /** If set, requests with another bearer key get 401. */
  apiKey?: string
  /** For another protocol: chooses the script of every request; `queued` takes the next from the queue. */
  route?: (request: UpstreamRequest, queued: () => Script | undefined) => Script
}

/** Starts an upstream on a free port of 127.0.0.1. */
export async function startUpstream ({ apiKey, route }: UpstreamOptions = {}): Promise<Upstream> {
  const requests: UpstreamRequest[] = []
  const sockets = new Set<Socket>()
  const queue: Script[] = []
  const failures: unknown[] = []
  const arrivals = new EventEmitter()
  const closing = new AbortController()
  const standing = { post: reply(), models: modelList(['gpt-5-nano', 'gpt-5-mini', 'babbage-002']) }
  let arrived = 0
  let handedOut = 0

  function choose (request: UpstreamRequest): Script {
    const { method, path, headers } = request
    if (route !== undefined) return route(request, () => queue.shift())
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) return refusal(401)
    const { pathname } = new URL(path, 'http://upstream')
    if (method === 'POST' && pathname.endsWith('/completions')) return queue.shift() ?? standing.post
    if (method === 'GET' && pathname.endsWith('/models')) return standing.models
    return refusal(404, { message: `Invalid URL (${method} ${path})`, code: null })
  }

  const server = createServer(keepOpen, async (incoming, response) => {
    try {
      const exchange = await receive(incoming, response, arrived++)
      requests.push(exchange.request)
      arrivals.emit('request')
      if (!response.destroyed) await play(choose(exchange.request), exchange)
    } catch (error) {
      failures.push(error)
      incoming.socket.destroy()
    }
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get connections () { return sockets.size },
    async nextRequest () {
      const index = handedOut++
      while (requests.length <= index) await once(arrivals, 'request', { signal: closing.signal })
      return requests[index]!
    },
    script: (...scripts) => { queue.push(...scripts) },
    always: (script) => { standing.post = script },
    models: (script) => { standing.models = script },
    async close () {
      closing.abort()
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
      if (failures.length > 0) throw new AggregateError(failures, 'upstream scripts failed')
    }
  }
}

const carriedRequest = new WeakSet<Socket>()

async function receive (
  incoming: IncomingMessage, response: ServerResponse, number: number
): Promise<Exchange> {
  const { socket, method = '', url: path = '', headers } = incoming
  const reused = carriedRequest.has(socket)
  carriedRequest.add(socket)
  let taken = false
  const gone = new Promise<void>((resolve) => response.once('close', resolve))
  const bytes = await bodyOf(incoming)
  const closed = gone.then(() => { request.aborted = !response.writableFinished && !taken })
  const request: UpstreamRequest = {
    number, method, path, headers, bytes, body: objectIn(bytes), reused, bytesSent: 0, aborted: false, closed
  }
  function takeSocket () {
    taken = true
    return socket
  }
  return { request, response, takeSocket }
}

async function bodyOf (incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of incoming) {
      bytes += piece.length
      if (bytes > maxBodyBytes) throw new RangeError(`a request body is larger than ${maxBodyBytes} bytes`)
      pieces.push(piece)
    }
  } catch (error) {
    // If a client disconnects during its upload, the partial body is recorded.
    if (!incoming.readableAborted) throw error
  }
  return Buffer.concat(pieces)
}

function objectIn (bytes: Buffer): UpstreamRequest['body'] {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

class PeerGone extends Error {}

async function play (script: Script, exchange: Exchange): Promise<void> {
  try {
    await script(exchange)
  } catch (error) {
    if (error instanceof PeerGone) return
    throw error
  }
  const { writableEnded, destroyed } = exchange.response
  if (!writableEnded && !destroyed) throw new Error(`a script left ${exchange.request.path} without an end`)
}

// ---- Steps: scripts that do one thing, to combine with `sequence`.

/** Runs scripts in order. */
export function sequence (...steps: Script[]): Script {
  return async (exchange) => {
    for (const step of steps) await step(exchange)
  }
}

/** Sends status and headers at once, ahead of any body. */
export function head (headers: OutgoingHttpHeaders = {}, status = 200): Script {
  return async ({ response }) => {
    response.writeHead(status, headers)
    response.flushHeaders()
    await setImmediate()
  }
}

/** Sends each piece of the body as its own TCP segment, with back-pressure. */
export function send (pieces: Iterable<Buffer>): Script {
  return async ({ request, response }) => {
    for (const piece of pieces) {
      if (response.destroyed) throw new PeerGone()
      const written = new Promise((resolve) => response.write(piece, resolve))
      await Promise.race([written, request.closed])
      request.bytesSent += piece.length
      await setImmediate()
    }
  }
}

/** Ends the body properly. */
export const finish: Script = ({ response }) => { response.end() }

/** Sends nothing more and keeps the connection open until the client disconnects. */
export const stall: Script = ({ request }) => request.closed

/** Resets the connection (RST). */
export const reset: Script = (exchange) => {
  exchange.takeSocket().resetAndDestroy()
  return exchange.request.closed
}

/** Closes the upstream's half of the connection (FIN) and reads on until the client closes the other half. */
export const halfClose: Script = (exchange) => {
  exchange.takeSocket().end()
  return exchange.request.closed
}

/** Closes the connection (FIN), even if the body is incomplete. */
export const hangUp: Script = (exchange) => {
  const socket = exchange.takeSocket()
  socket.end(() => socket.destroy())
  return exchange.request.closed
}

// ---- Answers of api.openai.com, as recorded in August and September 2025.

export interface Answer {
  /** Streamed word by word, or in the given pieces. With tools and without text, content is null. */
  text?: string | string[]
  tools?: { name: string, arguments: string }[]
  finishReason?: string
  /** The reported model; by default a dated form of the requested one. */
  model?: string
  usage?: { prompt: number, completion: number, cached?: number, reasoning?: number }
}

export interface Choice { index: number, finish_reason: string | null, [key: string]: unknown }
export interface Completion { choices: Choice[], usage?: object | null, [key: string]: unknown }

/** The JSON answer to a chat or text completion request; deterministic. */
export function completion (request: UpstreamRequest, answer: Answer = {}): Completion {
  const legacy = isLegacy(request)
  const finishReason = finishReasonOf(answer)
  const choices = Array.from({ length: choiceCount(request) }, (_, index): Choice => legacy
    ? { text: wordsOf(answer).join(''), index, logprobs: null, finish_reason: finishReason }
    : { index, message: messageOf(answer), finish_reason: finishReason })
  const { id, created, model } = identityOf(request, answer)
  if (legacy) return { id, object: 'text_completion', created, model, choices, usage: usageOf(answer, legacy) }
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices,
    usage: usageOf(answer, legacy),
    service_tier: 'default',
    system_fingerprint: null
  }
}

/** The chunks of a streamed answer without `[DONE]`; deterministic. */
export function chunks (request: UpstreamRequest, answer: Answer = {}): Completion[] {
  const legacy = isLegacy(request)
  const includeUsage = streamOption(request, 'include_usage') === true
  const obfuscated = !legacy && streamOption(request, 'include_obfuscation') !== false
  const { id, created, model } = identityOf(request, answer)
  const envelope = legacy
    ? { id, object: 'text_completion', created, model }
    : { id, object: 'chat.completion.chunk', created, model, service_tier: 'default', system_fingerprint: null }
  const choices = Array.from({ length: choiceCount(request) }, (_, index) => {
    return legacy ? textChoices(index, answer) : deltaChoices(index, answer)
  }).flat()
  const noUsage = includeUsage ? { usage: null } : {}
  const list: Completion[] = choices.map((choice) => ({ ...envelope, choices: [choice], ...noUsage }))
  if (includeUsage) list.push({ ...envelope, choices: [], usage: usageOf(answer, legacy) })
  if (!obfuscated) return list
  return list.map((chunk, index) => ({ ...chunk, obfuscation: 'WuQNXIPio8PDeczE'.slice(index * 7 % 16) }))
}

function deltaChoices (index: number, answer: Answer): Choice[] {
  const { text, tools = [] } = answer
  const opening = { role: 'assistant', content: text === undefined && tools.length > 0 ? null : '', refusal: null }
  const calls = tools.flatMap((tool, index) => [
    { index, id: toolId(index), type: 'function', function: { name: tool.name, arguments: '' } },
    ...inPieces(tool.arguments, 8).map((piece) => ({ index, function: { arguments: piece } }))
  ])
  const deltas = [
    opening,
    ...wordsOf(answer).map((content) => ({ content })),
    ...calls.map((call) => ({ tool_calls: [call] }))
  ]
  return [
    ...deltas.map((delta) => ({ index, delta, finish_reason: null })),
    { index, delta: {}, finish_reason: finishReasonOf(answer) }
  ]
}

function textChoices (index: number, answer: Answer): Choice[] {
  const words = wordsOf(answer)
  return words.map((text, position) => {
    const isLast = position === words.length - 1
    return { text, index, logprobs: null, finish_reason: isLast ? finishReasonOf(answer) : null }
  })
}

function messageOf (answer: Answer): object {
  const { text, tools = [] } = answer
  const content = text === undefined && tools.length > 0 ? null : wordsOf(answer).join('')
  const calls = tools.map((tool, index) => ({ id: toolId(index), type: 'function', function: tool }))
  const toolCalls = calls.length > 0 ? { tool_calls: calls } : {}
  return { role: 'assistant', content, ...toolCalls, refusal: null, annotations: [] }
}

function wordsOf ({ text, tools = [] }: Answer): string[] {
  if (Array.isArray(text)) return text
  if (text === undefined && tools.length > 0) return []
  return (text ?? 'Hi there! Tell me what you’d like to do.').match(/\s*\S+|\s+$/g) ?? []
}

function inPieces (text: string, length: number): string[] {
  const count = Math.ceil(text.length / length)
  return Array.from({ length: count }, (_, index) => text.slice(index * length, (index + 1) * length))
}

function finishReasonOf ({ finishReason, tools = [] }: Answer): string {
  return finishReason ?? (tools.length > 0 ? 'tool_calls' : 'stop')
}

function toolId (index: number): string {
  return `call_8fxy20OEu9ulvvaa5b5CzVA${index}`
}

function usageOf ({ usage }: Answer, legacy: boolean): object {
  const recorded: NonNullable<Answer['usage']> = { prompt: 8, completion: 377, reasoning: 320 }
  const { prompt, completion, cached = 0, reasoning = 0 } = usage ?? recorded
  const totals = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  if (legacy) return totals
  return {
    ...totals,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0
    }
  }
}

function identityOf (request: UpstreamRequest, answer: Answer) {
  const requested = String(request.body?.model ?? 'gpt-5-nano')
  const model = answer.model ?? (/\d{4}-\d\d-\d\d$/.test(requested) ? requested : `${requested}-2025-08-07`)
  const prefix = isLegacy(request) ? 'cmpl-' : 'chatcmpl-'
  const id = prefix + String(request.number).padStart(29, 'C4Gm9xikLXbgE8He0BHWeoM03aa72')
  return { id, created: 1755133833, model }
}

function isLegacy ({ path }: UpstreamRequest): boolean {
  return !path.includes('/chat/')
}

function choiceCount ({ body }: UpstreamRequest): number {
  const prompts = Array.isArray(body?.prompt) && typeof body.prompt[0] !== 'number' ? body.prompt.length : 1
  return prompts * (typeof body?.n === 'number' ? body.n : 1)
}

function streamOption ({ body }: UpstreamRequest, name: string): unknown {
  const options = body?.stream_options
  return typeof options === 'object' && options !== null ? Reflect.get(options, name) : undefined
}

/** The events of a stream, each with its blank line, the last one `[DONE]`. */
export function events (list: readonly unknown[]): string[] {
  return [...list.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n']
}

function headersOf ({ number }: UpstreamRequest, contentType: string): OutgoingHttpHeaders {
  return {
    'content-type': contentType,
    'access-control-expose-headers': 'X-Request-ID',
    'openai-organization': 'tollgate-test',
    'openai-processing-ms': '2524',
    'openai-project': 'proj_KYenqYOfeZsnXEVK8dXVBhez',
    'openai-version': '2020-10-01',
    'x-envoy-upstream-service-time': '2601',
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-requests': '499',
    'x-ratelimit-remaining-tokens': '199996',
    'x-ratelimit-reset-requests': '120ms',
    'x-ratelimit-reset-tokens': '1ms',
    'x-request-id': `req_${number.toString(16).padStart(32, 'ff7b0a8af7a14d1bbe00df50025271ca')}`,
    'cf-cache-status': 'DYNAMIC',
    'set-cookie': '__cf_bm=upstream-cookie; path=/; HttpOnly; Secure; SameSite=None',
    'strict-transport-security': 'max-age=31536000; includeSubDomains; preload',
    'x-content-type-options': 'nosniff',
    server: 'cloudflare',
    'cf-ray': '96ec92b78fe0e4fe-JHB',
    'alt-svc': 'h3=":443"; ma=86400'
  }
}

// ---- Scripts.

/** Turns the pieces of a body, its events or its one document, into packets. */
export type Cut = (pieces: Buffer[]) => Iterable<Buffer>

export interface Transfer {
  status?: number
  /** Added to the regular headers. */
  headers?: OutgoingHttpHeaders
  /** Applied to the whole body before it is cut. */
  encode?: (body: Buffer) => Buffer
  cut?: Cut
  /** What follows the last packet. */
  end?: Script
}

/** Changes to the regular answer; each function gets the regular part. */
export interface Edits extends Transfer {
  /** The document of a JSON answer. */
  completion?: (completion: Completion) => unknown
  /** The text of a JSON answer. */
  json?: (text: string) => string
  chunks?: (chunks: Completion[]) => readonly unknown[]
  events?: (events: string[]) => string[]
}

/** Answers like OpenAI, as JSON or as a stream, with the given edits. */
export function reply (answer: Answer = {}, edits: Edits = {}): Script {
  return (exchange) => {
    const form = exchange.request.body?.stream === true ? streamReply : jsonReply
    return form(exchange.request, answer, edits)(exchange)
  }
}

function streamReply (request: UpstreamRequest, answer: Answer, edits: Edits): Script {
  const { encode, cut = same, end = finish, chunks: editChunks = same, events: editEvents = same } = edits
  const pieces = editEvents(events(editChunks(chunks(request, answer)))).map((event) => Buffer.from(event))
  const body = encode ? [encode(Buffer.concat(pieces))] : pieces
  const headers = { ...headersOf(request, 'text/event-stream; charset=utf-8'), ...edits.headers }
  return sequence(head(headers, edits.status), send(cut(body)), end)
}

function jsonReply (request: UpstreamRequest, answer: Answer, edits: Edits): Script {
  const { completion: editCompletion = same, json: editJson = same } = edits
  return document(editJson(`${JSON.stringify(editCompletion(completion(request, answer)), null, 2)}\n`), edits)
}

/** Sends a text unchanged, by default as JSON with OpenAI's headers. */
export function document (text: string, transfer: Transfer = {}): Script {
  const { status, headers, encode = same, cut = same, end = finish } = transfer
  return (exchange) => {
    const bytes = encode(Buffer.from(text))
    const regular = { ...headersOf(exchange.request, 'application/json'), 'content-length': bytes.length }
    return sequence(head({ ...regular, ...headers }, status), send(cut([bytes])), end)(exchange)
  }
}

function same<T> (value: T): T {
  return value
}

/** Ways to cut the same bytes into packets. */
export const cuts = {
  everyByte: (pieces: Buffer[]) => [...Buffer.concat(pieces)].map((byte) => Buffer.of(byte)),
  onePacket: (pieces: Buffer[]) => [Buffer.concat(pieces)],
  /** Between the bytes of each character that has more than one, and between the line ends of each event. */
  insideCharacters (pieces: Buffer[]) {
    const bytes = Buffer.concat(pieces)
    const lineFeed = 0x0a
    return cutAt(bytes, (at) => {
      const inCharacter = (bytes[at]! & 0xc0) === 0x80
      return inCharacter || (bytes[at] === lineFeed && bytes[at - 1] === lineFeed)
    })
  },
  /** Omits everything after the first `count` events, or the second half of a JSON document. */
  breakAfter: (count: number) => (pieces: Buffer[]) => {
    const [only = Buffer.alloc(0), ...more] = pieces
    return more.length === 0 ? [only.subarray(0, only.length / 2)] : pieces.slice(0, count)
  },
  /** Cuts at random positions, on average every `meanBytes`; deterministic for a seed. */
  anywhere: (seed: number, meanBytes = 16) => (pieces: Buffer[]) => {
    const random = randomOf(seed)
    return cutAt(Buffer.concat(pieces), () => random() < 1 / meanBytes)
  }
}

function cutAt (bytes: Buffer, isCut: (at: number) => boolean): Buffer[] {
  const packets: Buffer[] = []
  let start = 0
  for (let at = 1; at < bytes.length; at++) {
    if (!isCut(at)) continue
    packets.push(bytes.subarray(start, at))
    start = at
  }
  return [...packets, bytes.subarray(start)]
}

/** Mulberry32: numbers in [0, 1). */
function randomOf (seed: number): () => number {
  let state = seed
  return () => {
    state = state + 0x6d2b79f5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
  }
}

/** Headers of a 429 or 503, one for each form of retry-after. */
export const retryAfter = {
  seconds: (seconds: number) => ({ 'retry-after': String(seconds) }),
  ms: (ms: number) => ({ 'retry-after-ms': String(ms) }),
  date: (date: Date) => ({ 'retry-after': date.toUTCString() })
}

interface ErrorFields { message: string, type: string, param: string | null, code: string | null }

/** The error object OpenAI sends with each status. */
export const errorsByStatus: Readonly<Record<number, ErrorFields>> = {
  400: errorOf("Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.1 instead.", {
    param: 'temperature', code: 'decimal_above_max_value'
  }),
  401: errorOf('Incorrect API key provided: sk-wrong.', { code: 'invalid_api_key' }),
  403: errorOf('Country, region, or territory not supported', {
    type: 'request_forbidden', code: 'unsupported_country_region_territory'
  }),
  404: errorOf('The model `gpt-0` does not exist or you do not have access to it.', { code: 'model_not_found' }),
  413: errorOf('Maximum content size limit (26214400) exceeded.'),
  429: errorOf('Rate limit reached for gpt-5-nano on requests per min (RPM): Limit 500, Used 500, Requested 1.', {
    type: 'requests', code: 'rate_limit_exceeded'
  }),
  500: errorOf('The server had an error while processing your request.', { type: 'server_error' }),
  502: errorOf('Bad gateway.', { type: 'server_error' }),
  503: errorOf('The engine is currently overloaded, please try again later.', {
    type: 'service_unavailable_error', code: 'server_is_overloaded'
  }),
  529: errorOf('Overloaded', { type: 'overloaded_error' })
}

function errorOf (message: string, fields: Partial<ErrorFields> = {}): ErrorFields {
  return { message, type: 'invalid_request_error', param: null, code: null, ...fields }
}

/** Refuses with OpenAI's error object for the status, with the given fields changed. */
export function refusal (
  status: number, error: Partial<ErrorFields> = {}, headers: OutgoingHttpHeaders = {}
): Script {
  const body = { error: { ...(errorsByStatus[status] ?? errorOf('Refused.')), ...error } }
  const contentType = 'application/json; charset=utf-8'
  return document(JSON.stringify(body, null, 4), { status, headers: { 'content-type': contentType, ...headers } })
}

/** The answer to `GET /v1/models`. */
export function modelList (ids: string[]): Script {
  const data = ids.map((id) => ({ id, object: 'model', created: 1754426384, owned_by: 'system' }))
  return document(JSON.stringify({ object: 'list', data }, null, 2))
}

/** Every irregular answer that a client has to handle, by name. */
export const scripts = {
  // Timing and packets.
  slowHeaders: (delayMs: number, then = reply()) => sequence(() => pause(delayMs), then),
  /** Sends nothing until the promise resolves, then the given answer. */
  heldUntil: (opened: Promise<unknown>, then = reply()): Script => async (exchange) => {
    await Promise.race([opened, exchange.request.closed])
    return then(exchange)
  },
  slowBytes: (answer?: Answer) => reply(answer, { cut: cuts.everyByte }),
  splitCharacters: (answer?: Answer) => reply(answer, { cut: cuts.insideCharacters }),
  splitAnywhere: (seed: number, answer?: Answer) => reply(answer, { cut: cuts.anywhere(seed) }),
  onePacket: (answer?: Answer) => reply(answer, { cut: cuts.onePacket }),

  // Event streams in unusual formats.
  lineEnds: (lineEnd: '\r\n' | '\r', answer?: Answer) => reply(answer, {
    events: (events) => events.map((event) => event.replaceAll('\n', lineEnd))
  }),
  comments: (comment = 'keep-alive', answer?: Answer) => reply(answer, {
    events: (events) => events.map((event) => `: ${comment}\n\n${event}`)
  }),
  azure: (answer?: Answer) => reply(answer, { chunks: (chunks) => [azureOpening, ...chunks] }),
  gzip: (answer?: Answer) => reply(answer, {
    headers: { 'content-encoding': 'gzip' }, encode: (body) => gzipSync(body)
  }),
  wrongContentType: (contentType = 'text/html') => reply({}, { headers: { 'content-type': contentType } }),

  // Usage and ends.
  noUsage: (answer?: Answer) => reply(answer, {
    completion: ({ usage, ...rest }) => rest,
    chunks: (chunks) => chunks.filter(hasChoices).map(({ usage, ...rest }) => rest)
  }),
  groqUsage: (answer?: Answer) => reply(answer, {
    chunks: (chunks) => usageIntoFinish(chunks, (usage) => ({ x_groq: { id: 'req_01jbd6g2', usage } }))
  }),
  mergedUsage: (answer?: Answer) => reply(answer, {
    chunks: (chunks) => usageIntoFinish(chunks, (usage) => ({ usage }))
  }),
  eosFinish: (answer?: Answer) => reply({ ...answer, finishReason: 'eos' }),
  noDone: (answer?: Answer) => reply(answer, { events: (events) => events.slice(0, -1) }),
  dataAfterDone: (answer?: Answer) => reply(answer, {
    events: (events) => [...events, ...events.slice(0, 2)]
  }),
  /** The stream ends properly, but without a finish reason, usage or `[DONE]`. */
  noFinish: (answer?: Answer) => reply(answer, {
    chunks: (chunks) => chunks.filter((chunk) => hasChoices(chunk) && !isFinish(chunk)),
    events: (events) => events.slice(0, -1)
  }),

  // Errors with a proper body.
  refused: refusal,
  html: (status: number) => document(`<html><head><title>${status}</title></head><body>nginx</body></html>\n`, {
    status, headers: { 'content-type': 'text/html' }
  }),
  empty: (status: number) => document('', { status }),
  redirected: (location: string) => document('', { status: 307, headers: { location } }),
  errorIn200: () => document(JSON.stringify(upstreamFault)),
  /** The first `count` events, then an error event and the end. */
  errorAfter: (count: number, error: object = upstreamFault) => reply({}, {
    events: (all) => [...all.slice(0, count), `data: ${JSON.stringify(error)}\n\n`]
  }),
  /** OpenRouter's form: in a chunk, with a number as the code. */
  errorChunkAfter: (count: number) => scripts.errorAfter(count, openRouterFault),

  // Malformed answers.
  malformedJson: () => reply({}, { json: (text) => text.replace('":', '"') }),
  malformedEvent: (after = 1) => reply({}, {
    events: (events) => events.toSpliced(after, 0, 'data: {"id":\n\n')
  }),
  /** A JSON body that ends before its content-length. */
  truncatedJson: () => reply({}, { cut: cuts.breakAfter(1), end: hangUp }),

  // Connections that end early.
  resetBeforeHeaders: () => reset,
  resetAfterHeaders: () => sequence(jsonHead, reset),
  resetAfter: (count = 1) => reply({}, { cut: cuts.breakAfter(count), end: reset }),
  halfClosedAfter: (count = 1) => reply({}, { cut: cuts.breakAfter(count), end: halfClose }),
  /** Answers the first request on a connection and closes it when the second one arrives. */
  closedWhenReused: (then = reply()): Script => (exchange) => {
    return exchange.request.reused ? hangUp(exchange) : then(exchange)
  },

  // Too much and too little.
  endless: () => sequence(jsonHead, send(forever('x'.repeat(2 ** 20), '{"id":"'))),
  endlessEvent: () => sequence(streamHead, send(forever('x'.repeat(65_536), 'data: '))),
  pingFlood: () => sequence(streamHead, send(forever(': ping\n\n'))),
  giantEvent: (mebibytes: number) => reply({ text: ['x'.repeat(mebibytes * 2 ** 20)] }),
  silent: () => stall,
  stalledAfter: (count = 1) => reply({}, { cut: cuts.breakAfter(count), end: stall })
}

const upstreamFault = { error: errorsByStatus[500] }
const openRouterFault = {
  id: 'gen-1755133833',
  object: 'chat.completion.chunk',
  created: 1755133833,
  model: 'gpt-5-nano',
  error: { code: 502, message: 'Provider disconnected' },
  choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }]
}
const azureOpening = { choices: [], id: '', model: '', object: '', created: 0, prompt_filter_results: [] }
const jsonHead = head({ 'content-type': 'application/json' })
const streamHead = head({ 'content-type': 'text/event-stream' })

function isFinish ({ choices }: Completion): boolean {
  return choices.some((choice) => choice.finish_reason !== null)
}

function hasChoices ({ choices }: Completion): boolean {
  return choices.length > 0
}

/** Moves the usage from its own chunk into the one with the finish reason. */
function usageIntoFinish (chunks: Completion[], place: (usage: Completion['usage']) => object): Completion[] {
  const usage = chunks.find((chunk) => !hasChoices(chunk))?.usage
  return chunks.filter(hasChoices).map((chunk) => isFinish(chunk) ? { ...chunk, ...place(usage) } : chunk)
}

function * forever (text: string, opening = ''): Generator<Buffer> {
  const bytes = Buffer.from(text)
  yield Buffer.from(opening + text)
  while (true) yield bytes
}
