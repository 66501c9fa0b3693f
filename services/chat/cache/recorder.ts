import type { Delivery, Events } from '../../requests/delivery.ts'
import { doneEvent } from '../../upstream/sse.ts'

interface Recorded { kind: 'json' | 'events', bytes: Uint8Array, headers: Record<string, string> }

/**
 * A delivery that passes an answer to `onWhole` once all of it is out, a stream only if it came to its proper
 * end. Nothing longer than `maxBytes` is collected.
 */
export function recording (
  delivery: Delivery, maxBytes: number, onWhole: (answer: Recorded) => void
): Delivery {
  return {
    ...delivery,
    json (headers, body, text) {
      onWhole({ kind: 'json', bytes: Buffer.from(text ?? JSON.stringify(body)), headers })
      return delivery.json(headers, body, text)
    },
    async stream (headers, events, encodeError) {
      const pieces: Uint8Array[] = []
      let length = 0
      await delivery.stream(headers, watched(events, piece => {
        length += piece.byteLength
        if (length <= maxBytes) pieces.push(Uint8Array.from(piece))
        else pieces.length = 0
      }), encodeError)
      const bytes = Buffer.concat(pieces)
      if (bytes.subarray(-doneEvent.length).equals(doneEvent)) onWhole({ kind: 'events', bytes, headers })
    }
  }
}

/** The same events; `see` receives each piece before it is passed on. */
function watched (events: Events, see: (piece: Uint8Array) => void): Events {
  async function * pieces (): AsyncGenerator<Uint8Array> {
    for await (const piece of events) {
      see(piece)
      yield piece
    }
  }
  if (!('pipeTo' in events)) return pieces()
  return {
    [Symbol.asyncIterator]: pieces,
    pipeTo: sink => events.pipeTo({
      write (piece) {
        see(piece)
        return sink.write(piece)
      },
      drained: () => sink.drained()
    })
  }
}
