import type { ChatCompletion, ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import { toGatewayError } from '../http/to-gateway-error.ts'
import {
  passing, type Delivery, type EncodeError, type Events, type LongPollResponse, type NativeDelivery
} from '../requests/delivery.ts'
import { eventsIn } from '../providers/upstream/sse.ts'

/** The form that answers of chat have at another API. */
export interface SurfaceForm {
  /** A whole answer. */
  whole (completion: ChatCompletion): object | Promise<object>
  /** Begins a stream. */
  stream (): SurfaceStream
}

/** One answer as events of another API. Each method returns whole events; none as an empty array. */
export interface SurfaceStream {
  /** The events for a chunk; the last chunk has the usage if the chat request asks for it, and no choices. */
  next (chunk: ChatCompletionChunk): Uint8Array
  /** The events after the last chunk. */
  end (): Uint8Array | Promise<Uint8Array>
  /** The events after which nothing comes, because the answer has failed. */
  error: EncodeError
}

/**
 * A delivery for the chat use case that sends what it gets in the form of another API. Answers that have this
 * form already go through `native`, as they are.
 */
export function translated (
  delivery: Delivery, form: SurfaceForm, native: NativeDelivery = passing(delivery)
): Delivery {
  return {
    json: async (headers, body, text) => {
      // The text has what the body may lack: the cost.
      const completion: ChatCompletion = JSON.parse(text ?? JSON.stringify(body))
      return await delivery.json(headers, await form.whole(completion), null)
    },
    stream: (headers, events) => {
      const stream = form.stream()
      return delivery.stream(headers, translatedEvents(events, stream), error => stream.error(error))
    },
    longPoll: () => translatedPoll(delivery.longPoll(), form),
    native
  }
}

function translatedPoll (response: LongPollResponse, form: SurfaceForm): LongPollResponse {
  const { raw } = response
  // A completion of chat, as its only senders build it.
  const whole = async (body: object): Promise<object> => await form.whole(body as ChatCompletion)
  return {
    raw,
    send (headers, body) {
      whole(body).then(
        result => response.send(headers, result), error => response.fail(toGatewayError(error))
      )
    },
    fail: error => response.fail(error),
    commit: headers => response.commit(headers),
    serialize: async body => await response.serialize(await whole(body))
  }
}

async function * translatedEvents (events: Events, stream: SurfaceStream): AsyncGenerator<Uint8Array> {
  for await (const piece of events) {
    for (const { data } of eventsIn(Buffer.from(piece))) {
      if (data === '[DONE]') continue
      const bytes = stream.next(JSON.parse(data))
      if (bytes.length > 0) yield bytes
    }
  }
  yield await stream.end()
}
