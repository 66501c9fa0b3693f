import type OpenAI from 'openai'
import { document, finish, head, reply as chatReply, send, sequence, startUpstream } from './upstream.ts'
import type { Script, Upstream, UpstreamRequest } from './upstream.ts'

// A local server that speaks OpenAI's Responses API as openai@7.55.0 types it, beside chat completions, and
// answers by script.

export type Item = Record<string, unknown> & { type: string }

export interface Said {
  output?: Item[]
  usage?: Partial<OpenAI.Responses.ResponseUsage> & Record<string, unknown>
  status?: 'completed' | 'incomplete'
  /** Other members of the response. */
  more?: Record<string, unknown>
}

export interface Edits {
  events?: (events: object[]) => object[]
  wire?: (events: string[]) => string[]
  end?: Script
  response?: (response: object) => object
}

/** Starts a server on a free port. */
export async function startResponsesServer (): Promise<Upstream> {
  let standing = answer()
  const upstream = await startUpstream({ route })

  function route ({ method, path }: UpstreamRequest, queued: () => Script | undefined): Script {
    const { pathname } = new URL(path, 'http://upstream')
    if (method === 'POST' && pathname === '/v1/responses') return queued() ?? standing
    return queued() ?? chatReply()
  }

  return Object.assign(upstream, { always: (script: Script) => { standing = script } })
}

export const message = (text: string, id = 'msg_up1'): Item => ({
  type: 'message',
  id,
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }]
})

export const reasoning = (sealed: string | null, id = 'rs_up1', text = 'Hm.'): Item => ({
  type: 'reasoning', id, summary: [{ type: 'summary_text', text }], ...(sealed === null ? {} : { encrypted_content: sealed })
})

export const search = (action = 'search', id = 'ws_up1'): Item => ({
  type: 'web_search_call', id, status: 'completed', action: { type: action, query: 'news' }
})

const usual = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 200, cache_write_tokens: 0 },
  output_tokens: 100,
  output_tokens_details: { reasoning_tokens: 40 },
  total_tokens: 1100
}

function responseFor (request: UpstreamRequest, { output = [message('Good day.')], usage, status = 'completed', more }: Said) {
  const { model, store, metadata, max_output_tokens: limit, tools } = request.body ?? {}
  const previous = request.body?.previous_response_id
  return {
    id: `resp_up${request.number}`,
    object: 'response',
    created_at: 1_700_000_000,
    status,
    background: false,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: null,
    max_output_tokens: limit ?? null,
    metadata: metadata ?? {},
    model: `${String(model)}-2026-08-07`,
    output,
    parallel_tool_calls: true,
    previous_response_id: previous ?? null,
    service_tier: 'default',
    store: store ?? true,
    tools: tools ?? [],
    usage: { ...usual, ...usage },
    ...more
  }
}

/** Answers a request, whole or streamed. */
export function answer (said: Said = {}, edits: Edits = {}): Script {
  return exchange => {
    const { request } = exchange
    const same = <T>(value: T): T => value
    const { events = same, wire = same, response = same, end = finish } = edits
    const whole = responseFor(request, said)
    if (request.body?.stream !== true) return document(JSON.stringify(response(whole)))(exchange)
    const encoded = wire(numbered(events(eventsOf(whole))).map(encode))
    return sequence(
      head({ 'content-type': 'text/event-stream; charset=utf-8' }), send(encoded.map(event => Buffer.from(event))), end
    )(exchange)
  }
}

export function refusal (status: number, error: object): Script {
  return document(JSON.stringify({ error: { message: 'No.', type: 'invalid_request_error', param: null, code: null, ...error } }), { status })
}

function numbered (events: readonly object[]): object[] {
  return events.map((event, at) => ({ ...event, sequence_number: at }))
}

function encode (event: object): string {
  return `event: ${String(Reflect.get(event, 'type'))}\ndata: ${JSON.stringify(event)}\n\n`
}

function eventsOf (response: ReturnType<typeof responseFor>): object[] {
  const begun = { ...response, status: 'in_progress', output: [], usage: null, incomplete_details: null }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...response.output.flatMap(itemEvents),
    { type: `response.${response.status}`, response }
  ]
}

function itemEvents (item: Item, index: number): object[] {
  const at = { item_id: item.id, output_index: index }
  const [begun, inner] = innerEvents(item, at)
  return [
    { type: 'response.output_item.added', output_index: index, item: begun },
    ...inner,
    { type: 'response.output_item.done', output_index: index, item }
  ]
}

function innerEvents (item: Item, at: object): [object, object[]] {
  if (item.type === 'message' && Array.isArray(item.content)) {
    const place = { ...at, content_index: 0 }
    const [part] = item.content
    const pieces: string[] = String(part.text).match(/\s*\S+|\s+$/g) ?? []
    return [{ ...item, status: 'in_progress', content: [] }, [
      { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
      ...pieces.map(delta => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
      { type: 'response.output_text.done', ...place, text: part.text, logprobs: [] },
      { type: 'response.content_part.done', ...place, part }
    ]]
  }
  if (item.type === 'function_call') {
    const args = String(item.arguments)
    return [{ ...item, status: 'in_progress', arguments: '' }, [
      { type: 'response.function_call_arguments.delta', ...at, delta: args },
      { type: 'response.function_call_arguments.done', ...at, name: item.name, arguments: args }
    ]]
  }
  if (item.type === 'reasoning' && Array.isArray(item.summary)) {
    const inner = item.summary.flatMap((part, index) => {
      const place = { ...at, summary_index: index }
      return [
        { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } },
        { type: 'response.reasoning_summary_text.delta', ...place, delta: part.text },
        { type: 'response.reasoning_summary_text.done', ...place, text: part.text },
        { type: 'response.reasoning_summary_part.done', ...place, part }
      ]
    })
    return [{ ...item, summary: [] }, inner]
  }
  return [item, []]
}
