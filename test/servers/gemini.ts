import type { GenerateContentResponse } from '@google/genai'
import { finish, head, send, sequence, startUpstream } from './upstream.ts'
import type { Script, Transfer, Upstream, UpstreamRequest } from './upstream.ts'
import { fault, generateContentRequest } from './gemini-messages.ts'
import { refusalOf, type Parsed } from './gemini-rules.ts'

/** A response as it is on the wire: the type of the SDK with the words instead of its enums. */
export type Response = Plain<Pick<
  GenerateContentResponse, 'candidates' | 'promptFeedback' | 'usageMetadata' | 'modelVersion' | 'responseId' | 'createTime'>>

type Plain<Type> = Type extends string
  ? `${Type}`
  : Type extends (infer Item)[]
    ? Plain<Item>[]
    : Type extends object ? { [Key in keyof Type]: Plain<Type[Key]> } : Type

export interface GeminiServer extends Upstream {
  /** Where the native API begins, e.g. `http://127.0.0.1:41234/v1beta`. */
  readonly baseUrl: string
  /** The server alone, for the SDK. */
  readonly origin: string
}

interface GeminiOptions {
  apiKey?: string
  /** Names of the models; each can do everything, except the last, which only embeds. */
  models?: string[]
  /** Models on one page of the list, whatever is asked for. */
  pageSize?: number
}

/**
 * A local server that answers as generativelanguage.googleapis.com does: as strict about keys and requests,
 * in its shapes and with its line ends. Without a script it answers with a short text.
 */
export async function startGemini (options: GeminiOptions = {}): Promise<GeminiServer> {
  let standing: Script | null = null
  const upstream = await startUpstream({
    route: (request, queued) => choose(request, () => queued() ?? standing ?? undefined, options)
  })
  const origin = new URL(upstream.url).origin
  return Object.assign(upstream, {
    origin, baseUrl: `${origin}/v1beta`, always: (script: Script) => { standing = script }
  })
}

const usualModels = ['gemini-3.5-flash', 'gemini-2.5-pro', 'gemini-embedding-001']

function choose (
  request: UpstreamRequest, queued: () => Script | undefined, options: GeminiOptions
): Script {
  const { apiKey = 'gm-key', models = usualModels, pageSize = 1000 } = options
  const { method, path, headers, body } = request
  const { pathname, searchParams } = new URL(path, 'http://gemini')
  const key = headers['x-goog-api-key']
  if (key === undefined) return problem(403, 'PERMISSION_DENIED', "Method doesn't allow unregistered callers.")
  if (key !== apiKey) {
    return problem(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [keyInvalid])
  }
  if (method === 'GET' && /^\/v1(beta)?\/models$/.test(pathname)) {
    return listModels(models, pageSize, searchParams.get('pageToken'))
  }
  // The SDK asks for v1 by default; both versions take the same.
  const [, , name] = /^\/v1(beta)?\/models\/([^/]+):(generateContent|streamGenerateContent)$/.exec(pathname) ?? []
  if (method !== 'POST' || name === undefined) return page(404, '<title>Error 404 (Not Found)!!1</title>')
  const model = decodeURIComponent(name)
  const parseError = fault(body, generateContentRequest)
  if (parseError !== null) return problem(400, 'INVALID_ARGUMENT', parseError)
  const refusal = refusalOf(body as Parsed, model)
  if (refusal !== null) return problem(400, 'INVALID_ARGUMENT', refusal)
  return queued() ?? says([{ ...greeting, modelVersion: model }])
}

const keyInvalid = {
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason: 'API_KEY_INVALID',
  domain: 'googleapis.com',
  metadata: { service: 'generativelanguage.googleapis.com' }
}

const greeting: Response = {
  candidates: [
    { content: { role: 'model', parts: [{ text: 'Hello! How can I help?' }] }, finishReason: 'STOP', index: 0 }
  ],
  usageMetadata: {
    promptTokenCount: 4,
    candidatesTokenCount: 7,
    totalTokenCount: 11,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 4 }]
  },
  responseId: 'x2kRaYz4CMKkz7IPhZ2iqAI'
}

/** An error as the service gives it. */
export function problem (code: number, status: string, message: string, details: object[] = []): Script {
  const error = { code, message, status, ...(details.length === 0 ? {} : { details }) }
  return json({ error }, { status: code })
}

/** A page of some server on the way. */
export function page (status: number, html: string): Script {
  return sequence(head({ 'content-type': 'text/html; charset=UTF-8' }, status), send([Buffer.from(html)]), finish)
}

function json (value: object, { status, headers, cut = same, end = finish }: Transfer = {}): Script {
  const bytes = Buffer.from(JSON.stringify(value, null, 2))
  const regular = { 'content-type': 'application/json; charset=UTF-8', 'content-length': bytes.length }
  return sequence(head({ ...regular, ...headers }, status), send(cut([bytes])), end)
}

interface Edits extends Transfer { events?: (events: string[]) => string[] }

/** Answers with the responses: one event each in a stream, all in one otherwise. */
export function says (responses: readonly Response[], edits: Edits = {}): Script {
  return exchange => {
    const { path } = exchange.request
    if (!path.includes(':stream')) return json(whole(responses), edits)(exchange)
    // Without `alt=sse` the responses come as one JSON array.
    if (!path.includes('alt=sse')) return json([...responses], edits)(exchange)
    const { cut = same, end = finish, events = same } = edits
    const texts = events(responses.map(response => `data: ${JSON.stringify(response)}\r\n\r\n`))
    const headers = { 'content-type': 'text/event-stream', ...edits.headers }
    const packets = cut(texts.map(text => Buffer.from(text)))
    return sequence(head(headers, edits.status), send(packets), end)(exchange)
  }
}

function same<T> (value: T): T {
  return value
}

/** The partial responses of a stream put together, as the service does when no stream is asked for. */
function whole (responses: readonly Response[]): Response {
  const candidates = new Map<number, NonNullable<Response['candidates']>[number]>()
  for (const candidate of responses.flatMap(response => response.candidates ?? [])) {
    const index = candidate.index ?? 0
    const before = candidates.get(index)
    const parts = [...before?.content?.parts ?? [], ...candidate.content?.parts ?? []]
    candidates.set(index, { ...before, ...candidate, content: { role: 'model', parts } })
  }
  const all: Response = Object.assign({}, ...responses)
  return candidates.size === 0 ? all : { ...all, candidates: [...candidates.values()] }
}

function listModels (models: string[], pageSize: number, token: string | null): Script {
  const start = Number(token ?? 0)
  const page = models.slice(start, start + pageSize)
  const list = page.map(name => ({
    name: `models/${name}`,
    version: '001',
    displayName: name,
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: name === models.at(-1) ? ['embedContent'] : ['generateContent', 'countTokens']
  }))
  const next = start + pageSize < models.length ? { nextPageToken: String(start + pageSize) } : {}
  return json({ models: list, ...next })
}
