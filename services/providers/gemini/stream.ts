import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { EventSplitter, eventsIn } from '../../upstream/sse.ts'
import type { StreamReport } from '../provider.ts'
import { readUsage } from '../usage.ts'
import { ChunkMaker, type ChunkOptions } from './chunks.ts'
import { geminiErrorIn } from './errors.ts'
import type { Exchange } from '../../upstream/exchange.ts'

/** Most bytes of comments between two events. */
const maxCommentBytes = 256 * 1024

/**
 * The partial responses of a stream as chunks, the usage last. Usage goes into the report as it comes, so
 * that a stream that breaks off is paid for as far as it got. Throws UpstreamError when the stream breaks
 * off, says something else than responses, or ends while a candidate has not.
 */
export async function * chunksIn (
  exchange: Exchange, report: StreamReport, options: ChunkOptions
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const maker = new ChunkMaker(options)
  for await (const response of responsesIn(exchange)) {
    const failure = geminiErrorIn(response, exchange.status)
    if (failure !== null) throw failure
    const chunks = maker.chunks(response)
    report.usage = readUsage({ usage: maker.usage }) ?? report.usage
    report.model = maker.model
    yield * chunks
  }
  yield * maker.end()
}

/** The responses as they came; each event holds a whole one. */
async function * responsesIn (exchange: Exchange): AsyncGenerator<JsonObject, void, undefined> {
  const splitter = new EventSplitter()
  let commentBytes = 0
  for await (const bytes of exchange) {
    const piece = splitter.push(bytes)
    if (piece === null) continue
    commentBytes += piece.length
    for (const { data } of eventsIn(piece)) {
      commentBytes = 0
      yield parsed(data)
    }
    if (commentBytes > maxCommentBytes) throw badReply('The provider sent nothing but comments.')
  }
  // A last event without its empty line is an event all the same, unless it was cut off.
  for (const { data } of eventsIn(splitter.rest())) yield parsed(data)
}

/** A list is how the service reports an error that it could not put into the stream. */
function parsed (data: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw badReply('The provider sent an event that is not valid JSON.', cause)
  }
  const response: unknown = Array.isArray(value) ? value[0] : value
  if (isObject(response)) return response
  throw badReply('The provider sent an event that is not a JSON object.')
}

function badReply (message: string, cause?: unknown): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', message, { cause })
}
