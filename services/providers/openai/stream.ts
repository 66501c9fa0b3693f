import { isEventStream, looksLikeEvents, maxResponseBytes, notAStream } from '../upstream/read-response.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import type { EventSink, EventStream } from '../provider.ts'
import type { StreamReport } from '../report.ts'
import type { RelayOptions } from './stream-editor.ts'
import { StreamRelay } from './stream-relay.ts'

const openingBrace = 0x7b

/**
 * Relays an upstream's event stream as bytes; resolves at its first event, so that a failure before it
 * rejects, or with the bytes of a JSON document that was sent instead. Events pass untouched unless they
 * carry usage to hide, something to repair, or an error. The stream ends with `[DONE]` only if the upstream
 * completed it; else it throws UpstreamError.
 */
export async function relayStream (
  response: UpstreamResponse, report: StreamReport, options: RelayOptions
): Promise<EventStream | Buffer> {
  const chunks = response[Symbol.asyncIterator]()
  const relay = new StreamRelay(report, options)

  async function read (): Promise<void> {
    try {
      const chunk = await chunks.next()
      if (chunk.done === true) relay.end()
      else relay.push(chunk.value)
    } catch (error) {
      relay.breakOff(error)
    }
    if (relay.isDone) response.finish()
  }

  async function next (): Promise<IteratorResult<Buffer, undefined>> {
    for (;;) {
      const value = relay.take()
      if (value !== undefined) return { done: false, value }
      if (relay.failure !== null) {
        response.cancel()
        throw relay.failure
      }
      if (relay.isDone) return { done: true, value }
      if (relay.isCut) await relay.close(response)
      else await read()
    }
  }

  const first = await firstBytes(chunks)
  if (first[0] === openingBrace) return Buffer.concat([first, await response.read(maxResponseBytes)])
  if (!isEventStream(response) && !looksLikeEvents(first.toString('latin1', 0, 6))) {
    response.cancel()
    throw notAStream()
  }
  relay.push(first)
  while (!relay.hasPieces && !relay.isDone && !relay.isCut && relay.failure === null) await read()
  if (!relay.hasPieces && relay.failure !== null) {
    response.cancel()
    throw relay.failure
  }
  const iterator = {
    next,
    async return () {
      if (!relay.isDone) response.cancel()
      return { done: true as const, value: undefined }
    }
  }
  return { [Symbol.asyncIterator]: () => iterator, pipeTo: sink => pipe(response, relay, sink) }
}

const byteOrderMark = new Set([0xef, 0xbb, 0xbf])

/**
 * The first bytes of a body without the white space and byte order mark before them; some servers send white
 * space while they queue.
 */
async function firstBytes (chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  for (;;) {
    const { done, value } = await chunks.next()
    if (done === true) return Buffer.alloc(0)
    const isText = (byte: number): boolean => byte > 0x20 && !byteOrderMark.has(byte)
    const start = value.findIndex(isText)
    if (start !== -1) return value.subarray(start)
  }
}

/** Writes the rest of a stream to a sink without a promise per piece. */
async function pipe (response: UpstreamResponse, relay: StreamRelay, sink: EventSink): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()

  function endIfOver (): void {
    if (relay.failure !== null) {
      reject(relay.failure)
      response.cancel()
    } else if (relay.isDone) {
      resolve()
      if (!relay.isCut) response.finish()
    } else if (relay.isCut) relay.close(response).then(endIfOver, leave)
  }

  function leave (error: unknown): void {
    reject(error)
    response.cancel()
  }

  relay.writeTo(sink)
  endIfOver()
  if (relay.failure === null && !relay.isDone && !relay.isCut) {
    if (!relay.isFree) await sink.drained().catch(leave)
    response.pipeTo({
      chunk (bytes) {
        if (relay.isCut) return true
        relay.isFree = true
        relay.push(bytes)
        endIfOver()
        if (!relay.isFree) sink.drained().then(() => response.resume(), leave)
        return relay.isFree
      },
      end () {
        relay.end()
        endIfOver()
      },
      fail (error) {
        if (relay.isCut) return
        relay.breakOff(error)
        endIfOver()
      }
    })
  }
  await promise
}
