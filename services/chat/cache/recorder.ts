import type { Delivery, Events } from '../../requests/delivery.ts'
import { doneEvent } from '../../providers/upstream/sse.ts'

import type { CachedResponse } from './cached-responses.ts'

type Recorded = Pick<CachedResponse, 'kind' | 'bytes' | 'headers' | 'isNative'>

/**
 * A delivery that passes an answer to `onWhole` once all of it is out, a stream only if it came to its proper
 * end; of a native one, the caller knows whether it did. Nothing longer than `maxBytes` is collected.
 */
export function recording (
  delivery: Delivery, maxBytes: number, onWhole: (response: Recorded) => void
): Delivery {
  const { native } = delivery
  const whole = (body: unknown, text: string | null): Buffer => Buffer.from(text ?? JSON.stringify(body))
  return {
    ...delivery,
    json (headers, body, text) {
      onWhole({ kind: 'json', bytes: whole(body, text), headers, isNative: false })
      return delivery.json(headers, body, text)
    },
    async stream (headers, events, encodeError) {
      const collected = collect(events, maxBytes)
      await delivery.stream(headers, collected.events, encodeError)
      const bytes = collected.bytes()
      if (bytes.subarray(-doneEvent.length).equals(doneEvent)) onWhole({ kind: 'events', bytes, headers, isNative: false })
    },
    ...(native === undefined
      ? {}
      : {
          native: {
            json (headers, body, text, settled) {
              onWhole({ kind: 'json', bytes: whole(body, text), headers, isNative: true })
              return native.json(headers, body, text, settled)
            },
            async stream (headers, events, settle) {
              const collected = collect(events, maxBytes)
              await native.stream(headers, collected.events, settle)
              const bytes = collected.bytes()
              if (collected.isWhole() && bytes.length > 0) onWhole({ kind: 'events', bytes, headers, isNative: true })
            }
          }
        })
  }
}

interface Collected {
  events: Events
  /** What has come; nothing if it is too long. */
  bytes (): Buffer
  /** Whether the provider has ended it. */
  isWhole (): boolean
}

function collect (events: Events, maxBytes: number): Collected {
  const pieces: Uint8Array[] = []
  let length = 0
  let isWhole = false
  return {
    events: watched(events, piece => {
      length += piece.byteLength
      if (length <= maxBytes) pieces.push(Uint8Array.from(piece))
      else pieces.length = 0
    }, () => { isWhole = true }),
    bytes: () => Buffer.concat(pieces),
    isWhole: () => isWhole
  }
}

/** The same events; `see` receives each piece before it is passed on, `end` is called after the last. */
function watched (events: Events, see: (piece: Uint8Array) => void, end: () => void): Events {
  async function * pieces (): AsyncGenerator<Uint8Array> {
    for await (const piece of events) {
      see(piece)
      yield piece
    }
    end()
  }
  if (!('pipeTo' in events)) return pieces()
  return {
    [Symbol.asyncIterator]: pieces,
    async pipeTo (sink) {
      await events.pipeTo({
        write (piece) {
          see(piece)
          return sink.write(piece)
        },
        drained: () => sink.drained()
      })
      end()
    }
  }
}
