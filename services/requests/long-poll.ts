import type { VideoSettings } from '../config/catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import { whenClosed } from './attempt.ts'
import type { LongPollResponse } from './delivery.ts'
import type { RequestRecord } from './request-record.ts'

export type LongPoll = ReturnType<typeof startLongPoll>

interface LongPollOptions {
  response: LongPollResponse
  headers: Record<string, string>
  settings: Pick<VideoSettings, 'heartbeat' | 'heartbeatAfterMs' | 'heartbeatEveryMs' | 'maxHoldMs'>
  /** The client's own timeout; null if unknown. */
  clientTimeoutMs: number | null
  record: RequestRecord
  /** The error for a client that waited as long as it may, but whose work goes on. */
  stillRunning (): GatewayError
  /** The body for a failure after 200 was sent; valid, because clients parse any 200 as a success. */
  failureBody (error: GatewayError): object
  /** Called before the client is asked to come back, so that it is not taken for one that still waits. */
  onLeave (): Promise<void>
  /** Called when the response has ended or the client has disconnected. */
  onEnd (delivered: boolean): void
}

const space = ' '
/** Without these, nginx and compressing proxies would buffer the spaces. */
const heldHeaders = { 'content-type': 'application/json; charset=utf-8', 'x-accel-buffering': 'no', 'cache-control': 'no-transform' }
/**
 * The stated length of an answer by HTTP/1.0, which has no chunks: without one, an answer that was broken off
 * is complete for its client (RFC 9112, section 8). What the completion does not need is filled with spaces.
 */
const statedBytes = 16_384
const maxSpaces = statedBytes / 4

/**
 * Keeps a response open. Nothing is sent at first, so that an early error has its own status; then 200 and a
 * space from time to time (JSON may begin and end with spaces), so that idle timeouts of proxies and clients
 * do not fire.
 */
export function startLongPoll (options: LongPollOptions) {
  const { response, headers, settings, record, onEnd } = options
  const { raw } = response
  const isChunked = raw.req.httpVersionMinor > 0
  let committed = false
  let spaces = 0
  let isLeaving = false
  let answered: 'no' | 'part' | 'whole' = 'no'
  const holdMs = maxHoldMs(options)
  const stop = setTimeout(() => leave(() => { fail(options.stillRunning(), 'part') }), holdMs)
  // A client with a short timeout gets an early 504 that it retries; after 200 it would not.
  const beats = settings.heartbeat && holdMs > settings.heartbeatAfterMs * 3
  let beat = beats ? setTimeout(onBeat, settings.heartbeatAfterMs) : undefined

  whenClosed(raw, () => {
    end()
    onEnd(answered === 'whole' && raw.writableFinished)
  })

  function onBeat (): void {
    if (!committed) {
      committed = true
      record.firstByteAtMs = performance.now()
      response.commit({ ...headers, ...heldHeaders, ...(!isChunked && { 'content-length': String(statedBytes) }) })
    }
    // What a client does not read stays in this process's memory.
    if (raw.writableLength < maxUnread && (isChunked || spaces < maxSpaces)) {
      raw.write(space)
      spaces++
    }
    beat = setTimeout(onBeat, settings.heartbeatEveryMs)
  }

  function end (): void {
    clearTimeout(stop)
    clearTimeout(beat)
  }

  function fail (error: GatewayError, what: typeof answered): void {
    if (answered !== 'no') return
    answered = what
    end()
    if (!committed) return response.fail(error)
    record.failure = error
    record.code = error.code
    finish(options.failureBody(error))
  }

  function finish (body: object): void {
    write(body).catch(error => {
      record.failure = GatewayError.internal(error)
      // The client sees that the answer is incomplete.
      raw.destroy()
    })
  }

  async function write (body: object): Promise<void> {
    const text = await response.serialize(body)
    if (raw.destroyed) return
    const left = isChunked ? 0 : statedBytes - spaces - Buffer.byteLength(text)
    // The client sees that the answer is incomplete, and its next request is answered at once.
    if (left < 0) raw.destroy()
    else raw.end(text + space.repeat(left))
  }

  /** Waits for the record that the client has left, unless the answer comes first. */
  function leave (call: () => void): void {
    if (isLeaving || answered !== 'no') return
    isLeaving = true
    const limit = setTimeout(call, maxLeaveMs)
    options.onLeave().catch(() => {}).finally(() => {
      clearTimeout(limit)
      call()
    })
  }

  return {
    succeed (body: object, more: Record<string, string>): void {
      if (answered !== 'no') return
      answered = 'whole'
      end()
      if (committed) {
        finish(body)
      } else {
        record.firstByteAtMs = performance.now()
        response.send({ ...headers, ...more }, body)
      }
    },
    /** Ends it without an answer, which the caller gives; false if 200 was sent already. */
    drop (): boolean {
      if (committed || answered !== 'no') return false
      answered = 'part'
      end()
      return true
    },
    /** Answers with an error: by its status, or in a completion if 200 was sent already. */
    fail (error: GatewayError): void { fail(error, 'whole') },
    /**
     * Ends it because the gateway stops: with 503; after a 200 by closing the connection, which some SDKs
     * retry, and for HTTP/1.0 by a completion that says so.
     */
    release (): void {
      leave(() => {
        if (answered !== 'no') return
        if (!committed) return fail(shuttingDown(), 'part')
        if (!isChunked) return fail(options.stillRunning(), 'part')
        answered = 'part'
        end()
        raw.destroy()
      })
    }
  }
}

const maxUnread = 1024
/** A database that is slower must not keep the client beyond its timeout. */
const maxLeaveMs = 500
const graceMs = 5_000

function shuttingDown (): GatewayError {
  return GatewayError.unavailable('The gateway is shutting down. Send the same request again to keep waiting.',
    { code: 'shutting_down' })
}

/** Below the client's timeout, so that it learns that the job continues. */
function maxHoldMs ({ settings, clientTimeoutMs }: LongPollOptions): number {
  if (clientTimeoutMs === null) return settings.maxHoldMs
  return Math.max(1, Math.min(settings.maxHoldMs, clientTimeoutMs - Math.min(graceMs, clientTimeoutMs / 10)))
}
