import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { parseBounded } from '../upstream/read-response.ts'
import type { SseEvent } from '../upstream/sse.ts'
import { batchesOf } from '../named-events.ts'
import { recordChunk } from '../generated-text.ts'
import { recordEnd, recordUsage, statedName, type StreamReport } from '../report.ts'
import { readUsage } from '../usage.ts'
import type { ResponseOptions } from './response.ts'
import { ResponseChunks } from './chunks.ts'
import { geminiErrorIn } from './errors.ts'
import { usageOf } from './usage.ts'
import type { UpstreamResponse } from '../upstream/response.ts'

/** Most bytes of comments between two events. */
const maxCommentBytes = 256 * 1024

/**
 * The chunks of a stream, the usage last. The report's usage is updated with every response, so that a stream
 * that breaks off is charged so far. Throws UpstreamError for an error, a malformed event, or a stream that
 * ends before its candidates.
 */
export async function * readChunks (
  upstream: UpstreamResponse, report: StreamReport, options: ResponseOptions & { secret: string | null }
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const maker = new ResponseChunks(options)
  for await (const response of responsesIn(upstream)) {
    const failure = geminiErrorIn(response, upstream.status, options.secret)
    if (failure !== null) throw failure
    const chunks = maker.chunks(response)
    for (const chunk of chunks) recordChunk(report, chunk)
    const usage = readUsage({ usage: usageOf(response.usageMetadata) })
    if (usage !== null) recordUsage(report, usage, true)
    report.model = statedName(maker.model)
    yield * chunks
  }
  const endings = maker.end()
  recordEnd(report)
  yield * endings
}

/** The responses; each event holds a whole one. */
async function * responsesIn (response: UpstreamResponse): AsyncGenerator<JsonObject, void, undefined> {
  let commentBytes = 0
  for await (const { events, piece } of batchesOf(response)) {
    commentBytes = events.length > 0 ? 0 : commentBytes + piece.length
    if (commentBytes > maxCommentBytes) throw badReply('The provider sent only comments.')
    for (const event of events) yield parsed(event)
  }
}

/** Errors outside the stream come as a list. */
function parsed ({ event, data }: SseEvent): JsonObject {
  let value: unknown
  try {
    value = parseBounded(data)
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause
    throw badReply('The provider sent an event that is not valid JSON.', cause)
  }
  const response: unknown = Array.isArray(value) ? value[0] : value
  if (isObject(response)) return event === 'error' ? { error: response, ...response } : response
  throw badReply('The provider sent an event that is not a JSON object.')
}

function badReply (message: string, cause?: unknown): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', message, { cause })
}
