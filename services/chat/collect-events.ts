import { doneEvent } from '../providers/upstream/sse.ts'
import type { Events, ResponseListener, SentResponse } from '../requests/delivery.ts'

/**
 * Collects the bytes of an event stream while it is sent. `pass` gives them to the listener if the stream
 * came to its proper end and is not too long for it: OpenAI's ends with `[DONE]`, a native one when its
 * provider ends it.
 */
export function collectEvents (events: Events, { maxBytes, onSent }: ResponseListener) {
  const pieces: Uint8Array[] = []
  let length = 0
  let isEnded = false

  async function * collect (): AsyncGenerator<Uint8Array> {
    for await (const piece of events) {
      length += piece.byteLength
      if (length <= maxBytes) pieces.push(Uint8Array.from(piece))
      else pieces.length = 0
      yield piece
    }
    isEnded = true
  }

  return {
    events: collect(),
    pass (response: Pick<SentResponse, 'headers' | 'isNative'>): void {
      const bytes = Buffer.concat(pieces)
      const isDone = bytes.subarray(-doneEvent.length).equals(doneEvent)
      if (bytes.length > 0 && (response.isNative ? isEnded : isDone)) onSent({ ...response, kind: 'events', bytes })
    }
  }
}
