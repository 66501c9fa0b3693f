import { UpstreamError } from '../../shared/errors.ts'
import { isObject } from '../../shared/json.ts'
import { eventsIn } from '../../upstream/sse.ts'
import { isEventStream, maxAnswerBytes, objectOf, parseAnswer, readObject } from '../../upstream/answer-body.ts'
import type { Dialect } from './dialects.ts'
import { upstreamErrorIn, readUpstreamError } from './answer.ts'
import { editsFor } from './request.ts'
import { relayStream } from './stream.ts'
import { translateAnswer } from './translate.ts'
import { usageIn, withReasoning } from './usage.ts'
import { createReport } from '../provider.ts'
import type {
  ChatCall, ChatProvider, CompletionCall, EventStream, ProviderAnswer, ProviderCall,
  StreamReport
} from '../provider.ts'
import type { Connection, Exchange } from '../../upstream/exchange.ts'

interface OpenAIOptions {
  id: string
  dialect: Dialect
  apiKey: string | null
  headers: Record<string, string>
  connection: Connection
}

/**
 * Comments of a provider that is still queueing are left out this long, so that an error keeps its status.
 */
const commentsHeldMs = 10_000

/**
 * An upstream that speaks OpenAI's wire format, in whatever dialect. Requests and answers pass as bytes
 * wherever nothing has to change. Source: OpenAI specification, and each row of dialects.ts.
 */
export function createOpenAI ({ id, dialect, apiKey, headers, connection }: OpenAIOptions): ChatProvider {
  const ownHeaders = {
    ...(apiKey === null ? {} : { [dialect.auth.header]: dialect.auth.prefix + apiKey }),
    ...headers
  }
  const postHeaders = { ...ownHeaders, 'content-type': 'application/json', accept: '*/*' }

  async function post<Body, Chunk> (
    path: string, call: ProviderCall<ChatCall['request'] | CompletionCall['request']>
  ): Promise<ProviderAnswer<Body, Chunk>> {
    const { edits, dropped, hideUsage } = editsFor(call, dialect)
    const body = call.text.with(edits)
    const exchange = await connection.send({ method: 'POST', path, headers: postHeaders, body, signal: call.signal })
    if (exchange.status !== 200) throw await readUpstreamError(exchange, apiKey)
    const report = createReport(dropped)
    if (call.request.stream !== true) return readJson(await exchange.read(maxAnswerBytes), report, dialect)
    if (!isEventStream(exchange)) throw await notAStream(exchange, dialect)
    const events = relayStream(exchange, report, { dialect, hideUsage })
    return { kind: 'bytes', events: await untilFirstEvent(events), report }
  }

  return {
    id,
    chat: call => post('/chat/completions', call),
    complete: dialect.completions ? call => post('/completions', call) : undefined,
    async models (signal) {
      const exchange = await connection.send({ method: 'GET', path: '/models', headers: ownHeaders, signal })
      if (exchange.status !== 200) throw await readUpstreamError(exchange, apiKey)
      const list = await readObject(exchange)
      const ids = (Array.isArray(list.data) ? list.data : []).map(model => model?.id).filter(isText)
      const { modelPrefix: prefix } = dialect
      return ids.map(name => name.startsWith(prefix) ? name.slice(prefix.length) : name)
    },
    close: () => connection.close()
  }
}

function readJson<Body, Chunk> (
  bytes: Buffer, report: StreamReport, dialect: Dialect
): ProviderAnswer<Body, Chunk> {
  // As text: Node.js writes head and body at once when the body is one.
  const text = bytes.toString()
  const received = objectOf(parseAnswer(text))
  const failure = upstreamErrorIn(received, dialect)
  if (failure !== null) throw failure
  if (!Array.isArray(received.choices)) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has no choices.')
  }
  report.usage = usageIn(received, dialect)
  report.model = isText(received.model) ? received.model : null
  if (report.usage === null) received.choices.forEach(choice => report.delivered.takeText(textOf(choice)))
  const body = translateAnswer(withReasoning(received, dialect), dialect)
  // What a provider says is passed on as it is; nothing of it is relied on beyond what was just read.
  return { kind: 'json', body: body as Body, text: body === received ? text : JSON.stringify(body), report }
}

/** What was written in a choice of a whole answer, roughly. */
function textOf (choice: unknown): string {
  if (!isObject(choice)) return ''
  if (isText(choice.text)) return choice.text
  const message = isObject(choice.message) ? choice.message : {}
  const { content, tool_calls: calls } = message
  return (isText(content) ? content : '') + (calls === undefined ? '' : JSON.stringify(calls))
}

/** A stream was asked for and something else came: the error in it, or the fact itself. */
async function notAStream (exchange: Exchange, dialect: Dialect): Promise<UpstreamError> {
  const failure = upstreamErrorIn(await readObject(exchange), dialect)
  return failure ?? new UpstreamError('bad_reply', 'yes', 'The provider answered a stream request without a stream.')
}

/**
 * Waits for the first event with data, so that an upstream that fails before it said anything fails with a
 * true status and may be replaced by another. Returns the whole stream.
 */
async function untilFirstEvent (
  events: AsyncIterableIterator<Buffer, undefined> & EventStream
): Promise<EventStream> {
  const startedMs = performance.now()
  const first: Buffer[] = []
  for (;;) {
    const next = await events.next()
    if (next.done === true) break
    const hasData = !eventsIn(next.value).next().done
    if (!hasData && performance.now() - startedMs < commentsHeldMs) continue
    first.push(next.value)
    break
  }
  return resume(first, events)
}

/** The same stream from its start. */
function resume (
  first: Buffer[], events: AsyncIterableIterator<Buffer, undefined> & EventStream
): EventStream {
  const iterator = {
    ...events,
    next () {
      const value = first.shift()
      return value === undefined ? events.next() : Promise.resolve({ done: false as const, value })
    }
  }
  return {
    [Symbol.asyncIterator]: () => iterator,
    async pipeTo (sink) {
      for (const piece of first.splice(0)) if (!sink.write(piece)) await sink.drained()
      await events.pipeTo(sink)
    }
  }
}

function isText (value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
