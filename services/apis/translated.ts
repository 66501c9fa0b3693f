import type { ChatCompletion, ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import type { ResponseForm } from '../chat/client-api.ts'
import { toGatewayError } from '../http/to-gateway-error.ts'
import type { EncodeError, Events, LongPollResponse } from '../requests/delivery.ts'
import type { Exchange } from '../requests/exchange.ts'
import { eventsIn } from '../providers/upstream/sse.ts'

/** How another API writes what chat has. */
export interface Translator {
  /** The body for a whole chat completion. */
  whole (completion: ChatCompletion): object | Promise<object>
  /** Begins a stream. */
  stream (): StreamTranslator
}

/** One response as events of another API. Each method returns whole events; none as an empty array. */
export interface StreamTranslator {
  /** The events for a chunk; the last chunk has the usage if the chat request asks for it, and no choices. */
  next (chunk: ChatCompletionChunk): Uint8Array
  /** The events after the last chunk. */
  end (): Uint8Array | Promise<Uint8Array>
  /** The events after which nothing comes, because the response has failed. */
  error: EncodeError
}

/** Writes what chat has in the form of another API. */
export function translatedForm (translator: Translator): ResponseForm {
  return {
    whole: async ({ body }) => ({ body: await wholeBody(translator, body), text: null }),
    stream (events) {
      const stream = translator.stream()
      return { events: translatedEvents(events, stream), encodeError: error => stream.error(error) }
    }
  }
}

/** The exchange of a request for a video, whose completion is sent in the form of another API. */
export function withVideoForm<Request> (
  exchange: Exchange<Request>, translator: Translator
): Exchange<Request> {
  const { delivery } = exchange

  function longPoll (): LongPollResponse {
    const response = delivery.longPoll()
    return {
      ...response,
      send (headers, body) {
        wholeBody(translator, body).then(
          result => response.send(headers, result), error => response.fail(toGatewayError(error))
        )
      },
      serialize: async body => await response.serialize(await wholeBody(translator, body))
    }
  }
  return { ...exchange, delivery: { ...delivery, longPoll } }
}

async function wholeBody (translator: Translator, body: object): Promise<object> {
  // A completion of chat: the request was translated to one of chat.
  return await translator.whole(body as ChatCompletion)
}

async function * translatedEvents (events: Events, stream: StreamTranslator): AsyncGenerator<Uint8Array> {
  for await (const piece of events) {
    for (const { data } of eventsIn(Buffer.from(piece))) {
      if (data === '[DONE]') continue
      const bytes = stream.next(JSON.parse(data))
      if (bytes.length > 0) yield bytes
    }
  }
  yield await stream.end()
}
