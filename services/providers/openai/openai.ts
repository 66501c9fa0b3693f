import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText } from '../../shared/json.ts'
import { isEventStream, maxAnswerBytes, notAStream, objectOf, parseAnswer, readObject } from '../../upstream/answer-body.ts'
import { readUpstreamError } from '../error-body.ts'
import { createReport } from '../provider.ts'
import type {
  ChatApi, ChatCall, CompletionCall, ProviderAnswer, ProviderCall, ProviderParts, StreamReport, Upstream
} from '../provider.ts'
import { dialects, type Dialect } from './dialects.ts'
import { createOpenAIImages } from './images.ts'
import { requestEdits } from './request.ts'
import { relayStream } from './stream.ts'
import { translateAnswer, upstreamErrorIn, readDialectUsage, countReasoning } from './translate.ts'

/** The parts of a provider that speaks OpenAI's wire format. Throws RangeError for an unknown dialect. */
export function openaiParts (name: string): ProviderParts {
  const dialect = dialects[name]
  if (dialect === undefined) throw new RangeError(`There is no dialect called ${name}.`)
  const { query, nativeImages, videos } = dialect
  return {
    chat: upstream => createOpenAI(upstream.at(withQuery(upstream.baseUrl, query)), dialect),
    images (upstream) {
      const native = nativeImages && mediaUrl(upstream.baseUrl, dialect)
      if (nativeImages && native) return nativeImages(upstream.at(native))
      return createOpenAIImages(upstream.at(withQuery(upstream.baseUrl, query)), dialect)
    },
    videos: videos === null
      ? undefined
      : upstream => videos(upstream.at(mediaUrl(upstream.baseUrl, dialect) ?? upstream.baseUrl))
  }
}

/** The base URL with the dialect's query, unless the operator has set the parameters. */
function withQuery (baseUrl: string, query: Dialect['query']): string {
  const url = new URL(baseUrl)
  for (const [name, value] of Object.entries(query)) {
    if (!url.searchParams.has(name)) url.searchParams.set(name, value)
  }
  return url.href
}

/** The base URL of the dialect's media API; null where there is none. */
function mediaUrl (baseUrl: string, { mediaBase }: Dialect): string | null {
  if (mediaBase === undefined || !baseUrl.endsWith(mediaBase.replaces)) return null
  return baseUrl.slice(0, baseUrl.length - mediaBase.replaces.length) + mediaBase.by
}

/** Chat in OpenAI's wire format. Requests and answers pass as bytes unless something must change. */
function createOpenAI ({ apiKey, headers, connection }: Upstream, dialect: Dialect): ChatApi {
  const ownHeaders = {
    ...(apiKey === null ? {} : { [dialect.auth.header]: dialect.auth.prefix + apiKey }),
    ...headers
  }
  const postHeaders = { ...ownHeaders, 'content-type': 'application/json', accept: '*/*' }

  async function post<Body, Chunk> (
    path: string, call: ProviderCall<ChatCall['request'] | CompletionCall['request']>
  ): Promise<ProviderAnswer<Body, Chunk>> {
    const { edits, dropped, hideUsage } = requestEdits(call, dialect)
    const body = call.text.with(edits)
    const exchange = await connection.send({ method: 'POST', path, headers: postHeaders, body, signal: call.signal })
    if (exchange.status !== 200) throw await readUpstreamError(exchange, apiKey)
    const report = createReport(dropped)
    if (call.request.stream !== true) return readJson(await exchange.read(maxAnswerBytes), report, dialect)
    if (!isEventStream(exchange)) {
      throw upstreamErrorIn(await readObject(exchange), dialect) ?? notAStream()
    }
    return { kind: 'bytes', events: await relayStream(exchange, report, { dialect, hideUsage }), report }
  }

  return {
    chat: call => post('/chat/completions', call),
    complete: dialect.completions ? call => post('/completions', call) : undefined,
    async models (signal) {
      const exchange = await connection.send({ method: 'GET', path: '/models', headers: ownHeaders, signal })
      if (exchange.status !== 200) throw await readUpstreamError(exchange, apiKey)
      const list = await readObject(exchange)
      const ids = (Array.isArray(list.data) ? list.data : []).map(model => model?.id).filter(isText)
      const { modelPrefix: prefix } = dialect
      return ids.map(name => name.startsWith(prefix) ? name.slice(prefix.length) : name)
    }
  }
}

function readJson<Body, Chunk> (
  bytes: Buffer, report: StreamReport, dialect: Dialect
): ProviderAnswer<Body, Chunk> {
  // A string, because Node.js writes head and body in one packet only if the body is one.
  const text = bytes.toString()
  const received = objectOf(parseAnswer(text))
  const failure = upstreamErrorIn(received, dialect)
  if (failure !== null) throw failure
  if (!Array.isArray(received.choices)) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has no choices.')
  }
  report.usage = readDialectUsage(received, dialect)
  report.model = isText(received.model) ? received.model : null
  if (report.usage === null) received.choices.forEach(choice => report.delivered.takeText(textOf(choice)))
  const body = translateAnswer(countReasoning(received, dialect), dialect)
  // Passed on unchanged; nothing relies on more than was just checked.
  return { kind: 'json', body: body as Body, text: body === received ? text : JSON.stringify(body), report }
}

function textOf (choice: unknown): string {
  if (!isObject(choice)) return ''
  if (isText(choice.text)) return choice.text
  const message = isObject(choice.message) ? choice.message : {}
  const { content, tool_calls: calls } = message
  return (isText(content) ? content : '') + (calls === undefined ? '' : JSON.stringify(calls))
}
