import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { errorText } from '../../services/http/error-text.ts'
import type { LoadLimits } from '../../services/config/settings/settings.ts'
import { GatewayError } from '../../services/shared/errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What this process has taken on; whoever holds a request for long counts it here. */
    load: Load
    /** An onRequest hook for scopes that do work: turns requests away before anything is read of them. */
    shedLoad: onRequestHookHandler
  }
}

/**
 * Bounds what the process takes on. Beyond it a request is answered at once with a text that is always the
 * same, before its key is looked up or its body read. Admin and health are never turned away.
 */
export default fp<LoadLimits>(async (app, limits) => {
  const load = createLoad(limits)
  app.decorate('load', load)
  const refusal = overloaded()
  const text = errorText(refusal)

  app.decorate('shedLoad', function shedLoad (_request, reply, done) {
    if (load.isFull('requests')) {
      load.shed()
      reply.code(refusal.status).headers(refusal.headers).type('application/json; charset=utf-8').send(text)
      return
    }
    reply.raw.on('close', load.enter('requests'))
    done()
  })

  const { metrics } = app
  const gauge = (name: string, help: string, read: () => number): void => metrics.gauge({ name, help }, read)
  gauge('open_requests', 'Requests under way.', () => load.counts.requests)
  gauge('open_streams', 'Requests that are answered by a stream.', () => load.counts.streams)
  gauge('held_polls', 'Requests that are held until a video is there.', () => load.counts.polls)
  gauge('event_loop_lag_seconds', 'How late the event loop was on average over half a second.',
    () => load.lagMs() / 1000)
  metrics.counter({ name: 'shed_total', help: 'Requests turned away because of the load.' }, () => load.shedCount)
  app.addHook('onClose', async () => load.stop())
}, { name: 'overload', dependencies: ['metrics'] })

/** What is counted: requests under way, those that stream, and those held until a video is there. */
export type LoadKind = 'requests' | 'streams' | 'polls'

/** What this process has taken on. */
export interface Load {
  /** Whether nothing more can be taken on now; a comparison or two. */
  isFull (kind: LoadKind): boolean
  /** Counts one more, until the function returned is called; calling it again changes nothing. */
  enter (kind: LoadKind): () => void
  /** The same, but throws GatewayError 503 when there is no room. */
  admit (kind: LoadKind): () => void
  /** Notes that a request was turned away. */
  shed (): void
  readonly counts: Readonly<Record<LoadKind, number>>
  readonly shedCount: number
  /** How late the event loop was lately, in ms. */
  lagMs (): number
  stop (): void
}

const sampleMs = 500
const resolutionMs = 10
/** When a client that was turned away may try again. */
export const retryAfterS = 2

/** Watches the load of the process. `lagOf` tells how late the event loop is; measured unless told. */
export function createLoad (limits: LoadLimits, lagOf?: () => number): Load {
  const counts = { requests: 0, streams: 0, polls: 0 }
  let shedCount = 0
  let lagMs = 0
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()
  const sampling = setInterval(() => {
    lagMs = Math.max(0, delay.mean / 1e6 - resolutionMs) || 0
    delay.reset()
  }, sampleMs).unref()
  const lagNow = lagOf ?? (() => lagMs)

  const load: Load = {
    counts,
    get shedCount () { return shedCount },
    lagMs: lagNow,
    isFull: kind => counts[kind] >= limits[kind] || lagNow() > limits.lagMs,
    enter (kind) {
      counts[kind]++
      let isIn = true
      return () => {
        if (isIn) counts[kind]--
        isIn = false
      }
    },
    admit (kind) {
      if (counts[kind] < limits[kind]) return load.enter(kind)
      shedCount++
      throw overloaded()
    },
    shed () { shedCount++ },
    stop () {
      clearInterval(sampling)
      delay.disable()
    }
  }
  return load
}

/** 503: this node has as much to do as it can. Source of type and code: the live service. */
export function overloaded (): GatewayError {
  return GatewayError.unavailable('The gateway is overloaded. Please try again later.',
    { retryAfterS, code: 'server_is_overloaded' })
}
