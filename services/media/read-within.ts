import type { Readable } from 'node:stream'
import { asMediaUnavailable, silenceMs } from './errors.ts'

/**
 * The chunks of a stream. Iterating throws MediaUnavailable when the stream fails, or sends nothing for
 * `limitMs` while its reader waits; a slow reader has no limit. Its `return` closes the stream at once.
 */
export function readWithin (body: Readable, limitMs = silenceMs): AsyncIterable<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
  const end = (): void => { body.on('error', () => {}).destroy() }
  return {
    [Symbol.asyncIterator]: () => ({
      async next () {
        try {
          return await asMediaUnavailable(chunks.next(), { limitMs })
        } catch (error) {
          end()
          throw error
        }
      },
      async return () {
        end()
        return { done: true, value: undefined }
      }
    })
  }
}
