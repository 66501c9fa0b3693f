import type Anthropic from '@anthropic-ai/sdk'
import { createHash } from 'node:crypto'
import { finish, head, send, sequence, startUpstream } from './upstream.ts'
import type { Cut, Script, Transfer, Upstream, UpstreamRequest } from './upstream.ts'
import { budgetAboveLimit, complaintAbout } from './anthropic-rules.ts'

// A local server that speaks Anthropic's Messages API as @anthropic-ai/sdk 1.12.0 types it, refuses what the
// API refuses, and answers by script. Its own test holds it to that SDK.

type Message = Anthropic.Message
type Event = Anthropic.RawMessageStreamEvent | { type: 'ping' } | ReturnType<typeof errorBody>

export interface AnthropicServer extends Upstream {
  /** Models in pages of at most this many, whatever a client asks for. */
  pageSize: number
}

/** What the model says; a streamed text comes in the given pieces. */
export type Said =
  string |
  { text: string[] } |
  { thinking: string, display?: 'summarized' | 'omitted' } |
  { redacted: string } |
  { found: string } |
  { tool: string, input?: object, pieces?: string[], id?: string }

export interface Reply {
  said?: Said[]
  stopReason?: Message['stop_reason']
  stopDetails?: Message['stop_details']
  usage?: Partial<Anthropic.Usage>
  model?: string
}

/** Starts a server on a free port; keys other than `apiKey` are refused. */
export async function startAnthropic ({ apiKey = 'sk-ant-secret' } = {}): Promise<AnthropicServer> {
  const server = { pageSize: 1000 }
  const standing = { script: reply() }
  const upstream = await startUpstream({ route })

  function route (request: UpstreamRequest, queued: () => Script | undefined): Script {
    const { method, path, headers, body } = request
    // The client of version 1 sends its key in the second form.
    const isKnown = headers['x-api-key'] === apiKey || headers.authorization === `Bearer ${apiKey}`
    if (!isKnown) return refusal(401)
    if (headers['anthropic-version'] === undefined) return refusal(400, { message: 'anthropic-version: header is required' })
    const { pathname, searchParams } = new URL(path, 'http://anthropic')
    if (method === 'GET' && pathname === '/v1/models') return modelPage(searchParams, server.pageSize)
    if (method === 'POST' && pathname === '/v1/messages/count_tokens') return queued() ?? document('{"input_tokens":25}')
    if (method !== 'POST' || pathname !== '/v1/messages') return refusal(404, { message: `Not found: ${method} ${path}` })
    const complaint = complaintAbout(body, sign)
    if (complaint?.startsWith('model: ') === true) return refusal(404, { message: complaint })
    const isInterleaved = /\binterleaved-thinking-/.test(String(headers['anthropic-beta']))
    const isLifted = isInterleaved && complaint === budgetAboveLimit
    if (complaint !== null && !isLifted) return refusal(400, { message: complaint })
    const isBeta = /\bcontext-management-/.test(String(headers['anthropic-beta']))
    if (body?.context_management != null && !isBeta) {
      return refusal(400, { message: 'context_management: Extra inputs are not permitted' })
    }
    return queued() ?? standing.script
  }

  return Object.assign(server, upstream, {
    get connections () { return upstream.connections },
    always: (script: Script) => { standing.script = script }
  })
}

/** The seal of a thinking block; the API refuses a block that was changed since. */
export function sign (thinking: string): string {
  return `Eqo${createHash('sha256').update(thinking).digest('base64')}`
}

// ---- Answers.

const usage: Anthropic.Usage = {
  input_tokens: 25,
  output_tokens: 15,
  output_tokens_details: null,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  server_tool_use: null,
  service_tier: 'standard',
  inference_geo: null,
  speed: null
}

/** The whole message for a request; the same for the same arguments. */
export function messageFor (request: UpstreamRequest, { said = ['Hello there!'], ...more }: Reply = {}): Message {
  const content = said.map((one, at) => toBlock(one, at))
  const isCalling = content.some(({ type }) => type === 'tool_use')
  return {
    id: `msg_${String(request.number).padStart(24, '01XFDUDYJgAACzvnptvVoYEL')}`,
    type: 'message',
    role: 'assistant',
    model: more.model ?? String(request.body?.model),
    content,
    stop_reason: more.stopReason ?? (isCalling ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    stop_details: more.stopDetails ?? null,
    usage: { ...usage, ...more.usage },
    container: null,
    diagnostics: null
  }
}

function toBlock (said: Said, at: number): Anthropic.ContentBlock {
  if (typeof said === 'string') return { type: 'text', text: said, citations: null }
  if ('text' in said) return { type: 'text', text: said.text.join(''), citations: null }
  if ('found' in said) return searchResult(said.found, at)
  if ('redacted' in said) return { type: 'redacted_thinking', data: said.redacted }
  if ('thinking' in said) {
    const shown = said.display === 'omitted' ? '' : said.thinking
    return { type: 'thinking', thinking: shown, signature: sign(shown) }
  }
  const { tool, input = {}, id = `toolu_01T1x1fJ34qAmk2tNTrN7Up${at}` } = said
  return { type: 'tool_use', id, name: tool, input, caller: { type: 'direct' } }
}

/** What a web search has found; an error if that is nothing. */
function searchResult (title: string, at: number): Anthropic.WebSearchToolResultBlock {
  const url = 'https://example.com/'
  return {
    type: 'web_search_tool_result',
    tool_use_id: `srvtoolu_01${at}`,
    content: title === ''
      ? { type: 'web_search_tool_result_error', error_code: 'unavailable' }
      : [{ type: 'web_search_result', title, url, encrypted_content: 'Eqo', page_age: null }],
    caller: { type: 'direct' }
  }
}

/** The events of a streamed message, with the ping that the API sends after the first block has begun. */
export function eventsFor (request: UpstreamRequest, reply: Reply = {}): Event[] {
  const { content, stop_reason: reason, stop_details: details, usage, ...rest } = messageFor(request, reply)
  const start = { ...usage, output_tokens: 1, output_tokens_details: null, server_tool_use: null }
  const blocks = content.flatMap((block, index) => blockEvents(block, index, reply.said?.[index]))
  return [
    { type: 'message_start', message: { ...rest, content: [], stop_reason: null, stop_details: null, usage: start } },
    ...blocks.slice(0, 1),
    { type: 'ping' },
    ...blocks.slice(1),
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null, stop_details: details, container: null },
      usage: {
        input_tokens: usage.input_tokens,
        cache_creation_input_tokens: usage.cache_creation_input_tokens,
        cache_read_input_tokens: usage.cache_read_input_tokens,
        output_tokens: usage.output_tokens,
        output_tokens_details: usage.output_tokens_details,
        server_tool_use: usage.server_tool_use
      }
    },
    { type: 'message_stop' }
  ]
}

function blockEvents (block: Anthropic.ContentBlock, index: number, said: Said | undefined): Event[] {
  const [opening, deltas] = splitBlock(block, said)
  return [
    { type: 'content_block_start', index, content_block: opening },
    ...deltas.map(delta => ({ type: 'content_block_delta' as const, index, delta })),
    { type: 'content_block_stop', index }
  ]
}

type Opening = Anthropic.RawContentBlockStartEvent['content_block']

function splitBlock (
  block: Anthropic.ContentBlock, said: Said | undefined
): [Opening, Anthropic.RawContentBlockDelta[]] {
  if (block.type === 'text') {
    const pieces = typeof said === 'object' && 'text' in said ? said.text : block.text.match(/\s*\S+|\s+$/g) ?? []
    return [{ ...block, text: '' }, pieces.map(text => ({ type: 'text_delta', text }))]
  }
  if (block.type === 'tool_use') {
    // The first piece always is empty, and the only one where there is no input.
    const text = Object.keys(Object(block.input)).length === 0 ? '' : JSON.stringify(block.input)
    const given = typeof said === 'object' && 'tool' in said ? said.pieces : undefined
    const pieces = given ?? text.match(/.{1,7}/gs) ?? []
    return [{ ...block, input: {} }, ['', ...pieces].map(piece => ({ type: 'input_json_delta', partial_json: piece }))]
  }
  if (block.type !== 'thinking') return [block as Opening, []]
  const thought = (block.thinking.match(/.{1,9}/gs) ?? []).map(thinking => ({ type: 'thinking_delta' as const, thinking }))
  return [{ ...block, thinking: '', signature: '' }, [...thought, { type: 'signature_delta', signature: block.signature }]]
}

// ---- Scripts.

export interface Edits extends Transfer {
  message?: (message: Message) => unknown
  events?: (events: Event[]) => readonly object[]
  /** Applied to each event as it goes over the wire. */
  wire?: (events: string[]) => string[]
}

/** Answers as the API does, whole or as a stream as the request asks, but for the edits. */
export function reply (said: Reply = {}, edits: Edits = {}): Script {
  return exchange => {
    const { request } = exchange
    const { message: editMessage = same, events: editEvents = same, wire = same, cut = same } = edits
    if (request.body?.stream !== true) {
      const message = editMessage(messageFor(request, said))
      return document(JSON.stringify(message), edits)(exchange)
    }
    return sequence(
      head({ ...headersOf(request), 'content-type': 'text/event-stream; charset=utf-8', ...edits.headers }),
      send(cut(wire(editEvents(eventsFor(request, said)).map(encode)).map(event => Buffer.from(event)))),
      edits.end ?? finish
    )(exchange)
  }
}

/** Sends a text as it stands, as JSON unless the headers say otherwise. */
export function document (
  text: string, { status, headers, encode = same, cut = same, end = finish }: Transfer = {}
): Script {
  return exchange => {
    const bytes = encode(Buffer.from(text))
    const regular = { ...headersOf(exchange.request), 'content-length': bytes.length }
    return sequence(head({ ...regular, ...headers }, status), send(cut([bytes])), end)(exchange)
  }
}

/** Exactly these events, such as those of a fixture. */
export function replay (events: readonly object[], cut?: Cut): Script {
  return reply({}, { events: () => events, cut })
}

export function encode (event: object): string {
  return `event: ${String(Reflect.get(event, 'type'))}\ndata: ${JSON.stringify(event)}\n\n`
}

function same<T> (value: T): T {
  return value
}

function headersOf ({ number }: UpstreamRequest) {
  return {
    'content-type': 'application/json',
    'request-id': `req_011CSHoEeqs5C35K2UUqR${number}`,
    'anthropic-organization-id': '1f2a-test',
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '49',
    server: 'cloudflare'
  }
}

const errorsByStatus: Readonly<Record<number, [type: string, message: string]>> = {
  400: ['invalid_request_error', 'messages: at least one message is required'],
  401: ['authentication_error', 'invalid x-api-key'],
  402: ['billing_error', 'Your account is not in good standing.'],
  403: ['permission_error', 'Your API key does not have permission to use the specified resource.'],
  404: ['not_found_error', 'model: claude-0'],
  413: ['request_too_large', 'Request exceeds the maximum size'],
  429: ['rate_limit_error', 'This request would exceed your organization\'s rate limit.'],
  500: ['api_error', 'Internal server error'],
  503: ['overloaded_error', 'Overloaded'],
  504: ['timeout_error', 'Request timed out'],
  529: ['overloaded_error', 'Overloaded']
}

/** The body of an error, and the data of an `error` event. */
export function errorBody (status: number, fields: object = {}) {
  const [type, message] = errorsByStatus[status] ?? ['api_error', 'Unexpected']
  return { type: 'error' as const, error: { type, message, details: null, ...fields }, request_id: 'req_011CSHoEeqs5C35K2UUqRxyz' }
}

/** Refuses with the API's own error for the status, but for the given fields. */
export function refusal (status: number, fields: object = {}, headers: Record<string, string> = {}): Script {
  return document(JSON.stringify(errorBody(status, fields)), { status, headers })
}

export const models = [
  'claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5', 'claude-opus-5', 'claude-fable-5', 'claude-sonnet-5',
  'claude-opus-4-8', 'claude-opus-4-6', 'claude-sonnet-4-6', 'claude-haiku-4-5-20251001', 'claude-sonnet-4-5-20250929',
  'claude-opus-4-1-20250805', 'claude-sonnet-4-20250514', 'claude-3-haiku-20240307'
]

function modelPage (query: URLSearchParams, most: number): Script {
  const start = models.indexOf(query.get('after_id') ?? '') + 1
  const ids = models.slice(start, start + Math.min(most, Number(query.get('limit') ?? 20)))
  return document(JSON.stringify({
    data: ids.map(id => ({ type: 'model', id, display_name: id, created_at: '2026-02-19T00:00:00Z' })),
    has_more: start + ids.length < models.length,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null
  }))
}
