import type { ChatCompletion } from '../../schemas/openai/chat-completions.ts'
import type { VideoSettings } from '../catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import type { LongPollResponse } from '../requests/delivery.ts'
import type { Trace } from '../requests/trace.ts'
import { failureOf, stillRunning } from './answer.ts'
import type { Job } from './job.ts'

/** A request that is held open until its job has ended. */
export interface Held {
  /** Answers with a completion. */
  succeed (body: ChatCompletion, headers: Record<string, string>): void
  /** Answers with an error: by its status, or, where 200 was sent, in a whole completion. */
  fail (error: GatewayError): void
  /**
   * Ends it because the gateway does: a client that has got nothing yet is told, another one sees it break
   * off.
   */
  release (): void
}

interface HoldOptions {
  response: LongPollResponse
  job: Pick<Job, 'id' | 'model' | 'createdAt'>
  headers: Record<string, string>
  settings: VideoSettings
  /** What the client says it waits at most; null when it does not say. */
  clientTimeoutMs: number | null
  trace: Trace
  /** The response has ended or its client has gone: with the whole answer, or without. */
  onEnd (delivered: boolean): void
}

const space = ' '
/** nginx would keep the spaces to itself; a proxy that compresses would as well. */
const heldHeaders = { 'content-type': 'application/json; charset=utf-8', 'x-accel-buffering': 'no', 'cache-control': 'no-transform' }

/**
 * Holds a response open. Nothing is sent at first, so that an early error has its own status; then 200, and a
 * space from time to time, which JSON may begin with: proxies and clients that give up on silence go on
 * waiting.
 */
export function holdOpen (options: HoldOptions): Held {
  const { response, job, headers, settings, trace, onEnd } = options
  const { raw } = response
  let committed = false
  let answered: 'no' | 'part' | 'whole' = 'no'
  const holdMs = maxHoldMs(options)
  const stop = setTimeout(() => fail(stillRunning(job.id), 'part'), holdMs)
  // A client that gives up within the minute that proxies bear silence is better told to come back: after 200
  // it would not.
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
    // A client that reads nothing keeps what it has not read in this process's memory.
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
    raw.end(response.serialize(failureOf(job, error)))
  }

  return {
    succeed (body, more) {
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
    fail: error => fail(error, 'whole'),
    release () {
      if (answered !== 'no') return
      if (!committed) {
        return fail(GatewayError.unavailable('The gateway is shutting down. Send the same request again to wait on.',
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

/** Below what the client waits, so that it hears that the job goes on. */
function maxHoldMs ({ settings, clientTimeoutMs }: HoldOptions): number {
  if (clientTimeoutMs === null) return settings.maxHoldMs
  return Math.max(1, Math.min(settings.maxHoldMs, clientTimeoutMs - Math.min(graceMs, clientTimeoutMs / 10)))
}
