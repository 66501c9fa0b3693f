import type { ChatCompletion } from '../../schemas/openai/chat-completions.ts'
import type { VideoSettings } from '../catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import type { LongPollResponse } from '../requests/delivery.ts'
import type { Trace } from '../requests/trace.ts'
import { failureOf, stillRunning } from './answer.ts'
import type { Job } from './job.ts'

export type LongPoll = ReturnType<typeof startLongPoll>

interface LongPollOptions {
  response: LongPollResponse
  job: Pick<Job, 'id' | 'model' | 'createdAt'>
  headers: Record<string, string>
  settings: VideoSettings
  /** The client's own timeout; null if unknown. */
  clientTimeoutMs: number | null
  trace: Trace
  /** Called when the response has ended or the client has disconnected. */
  onEnd (delivered: boolean): void
}

const space = ' '
/** Without these, nginx and compressing proxies would buffer the spaces. */
const heldHeaders = { 'content-type': 'application/json; charset=utf-8', 'x-accel-buffering': 'no', 'cache-control': 'no-transform' }

/**
 * Keeps a response open. Nothing is sent at first, so that an early error has its own status; then 200 and a
 * space from time to time (JSON may begin with spaces), so that idle timeouts of proxies and clients do not
 * fire.
 */
export function startLongPoll (options: LongPollOptions) {
  const { response, job, headers, settings, trace, onEnd } = options
  const { raw } = response
  let committed = false
  let answered: 'no' | 'part' | 'whole' = 'no'
  const holdMs = maxHoldMs(options)
  const stop = setTimeout(() => fail(stillRunning(job.id), 'part'), holdMs)
  // A client with a short timeout gets an early 504 that it retries; after 200 it would not.
  const beats = settings.heartbeat && holdMs > settings.heartbeatAfterMs * 3
  let beat = beats ? setTimeout(onBeat, settings.heartbeatAfterMs) : undefined

  raw.once('close', () => {
    end()
    onEnd(answered === 'whole' && raw.writableFinished)
  })

  function onBeat (): void {
    if (!committed) {
      committed = true
      trace.firstByteAtMs = performance.now()
      response.commit({ ...headers, ...heldHeaders })
    }
    // What a client does not read stays in this process's memory.
    if (raw.writableLength < maxUnread) raw.write(space)
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
    trace.failure = error
    trace.code = error.code
    raw.end(response.serialize(failureOf(job, error)))
  }

  return {
    succeed (body: ChatCompletion, more: Record<string, string>): void {
      if (answered !== 'no') return
      answered = 'whole'
      end()
      if (committed) {
        raw.end(response.serialize(body))
      } else {
        trace.firstByteAtMs = performance.now()
        response.send({ ...headers, ...more }, body)
      }
    },
    /** Answers with an error: by its status, or in a completion if 200 was sent already. */
    fail (error: GatewayError): void { fail(error, 'whole') },
    /** Ends it because the gateway stops: with 503, or after a 200 by closing the connection. */
    release (): void {
      if (answered !== 'no') return
      if (!committed) {
        return fail(GatewayError.unavailable('The gateway is shutting down. Send the same request again to keep waiting.',
          { code: 'shutting_down' }), 'part')
      }
      answered = 'part'
      end()
      raw.destroy()
    }
  }
}

const maxUnread = 1024
const graceMs = 5_000

/** Below the client's timeout, so that it learns that the job continues. */
function maxHoldMs ({ settings, clientTimeoutMs }: LongPollOptions): number {
  if (clientTimeoutMs === null) return settings.maxHoldMs
  return Math.max(1, Math.min(settings.maxHoldMs, clientTimeoutMs - Math.min(graceMs, clientTimeoutMs / 10)))
}
