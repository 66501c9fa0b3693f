import type { OutgoingHttpHeaders } from 'node:http'
import { chunks, completion, events, type Answer, type Completion } from './completions.ts'
import type { Cut } from './cuts.ts'
import type { Script, UpstreamRequest } from './exchange.ts'
import { finish, head, send, sequence } from './steps.ts'

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
