import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { createBodyTurns } from '../../services/http/body-turns.ts'
import { errorText } from '../../services/http/error-text.ts'
import { createLoad, overloaded, type KeyLoad, type Load, type LoadCounts } from '../../services/http/load.ts'
import { whenOver } from '../../services/requests/attempt.ts'
import { speaksMessages } from '../../services/http/messages-error.ts'
import { atEndOfTurn } from '../../services/shared/timers.ts'
import type { LoadLimits } from '../../services/config/settings/settings.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The load of this process, including long polls and streams. */
    load: Load
    /** The current counts of this node with all its workers. Rejects with an Error if they do not respond. */
    nodeCounts (): Promise<LoadCounts>
    /**
     * An onRequest hook for scopes that do work: rejects requests before anything is read of them. Accepted
     * ones continue together at the end of the event loop's turn.
     */
    shedLoad: onRequestHookHandler
    /** An onRequest hook after authentication: rejects a key that has used up its share of a full node. */
    keepShare: onRequestHookHandler
  }

  interface FastifyRequest {
    /** The load of the request's key; null before `keepShare`, and for operators. */
    keyLoad: KeyLoad | null
    /** Bytes counted for the body and its parsed form by `load.take`. */
    bodyBytes: number
    /** Counts bytes of the request's body. Throws GatewayError 503 at the limit. */
    takeBytes (bytes: number): void
    /** Returns the bytes of the request's body once nothing refers to it. */
    giveBytes (): void
    /**
     * Runs work on a large body in the turn of its key, unless the client has left.
     */
    inBodyTurn (work: () => Promise<void>): Promise<void>
  }
}

interface OverloadOptions extends LoadLimits {
  /** Sums the counts of this process and others; by default only of this process. */
  nodeCounts?: (() => Promise<LoadCounts>) | undefined
}

/**
 * Bounds the load of the process. Further requests get 503 at once with a constant text, before their key is
 * looked up or their body is read. Admin and health requests are never rejected.
 */
export default fp<OverloadOptions>(async (app, { nodeCounts, ...limits }) => {
  const load = createLoad(limits)
  app.decorate('load', load)
  app.decorate('nodeCounts', nodeCounts ?? (async () => ({ ...load.counts })))
  app.decorateRequest('keyLoad', null)
  app.decorateRequest('bodyBytes', 0)
  app.decorateRequest('takeBytes', function (bytes) {
    if (this.keyLoad === null) return
    load.take(bytes, this.keyLoad, this.bodyBytes)
    this.bodyBytes += bytes
  })
  app.decorateRequest('giveBytes', function () {
    if (this.keyLoad !== null) load.give(this.bodyBytes, this.keyLoad)
    this.bodyBytes = 0
  })
  const takeTurn = createBodyTurns()
  app.decorateRequest('inBodyTurn', async function (work) {
    await takeTurn({ key: this.keyLoad?.key ?? '', socket: this.raw.socket }, work)
  })
  const refusal = overloaded()
  const text = errorText(refusal)

  app.decorate('shedLoad', function shedLoad (request, reply, done) {
    if (load.isFull('requests')) {
      load.shed()
      if (speaksMessages(request)) return done(refusal)
      reply.code(refusal.status).headers(refusal.headers).type('application/json; charset=utf-8').send(text)
      return
    }
    whenOver(reply.raw, request.record, load.enter('requests'))
    atEndOfTurn(done)
  })

  app.decorate('keepShare', function keepShare (request, { raw }, done) {
    // A client that left while its key was looked up sends no body and awaits no response.
    if (raw.closed) return
    const keyLoad = load.open(request.apiKey.id)
    if (keyLoad === null) {
      load.shed()
      return done(overloaded())
    }
    request.keyLoad = keyLoad
    whenOver(raw, request.record, () => {
      request.giveBytes()
      load.close(keyLoad)
    })
    done()
  })

  registerMetrics(app, load)
  app.addHook('onClose', async () => load.stop())
}, { name: 'overload', dependencies: ['metrics', 'auth', 'request-record'] })

function registerMetrics ({ metrics }: FastifyInstance, load: Load): void {
  const gauge = (name: string, help: string, read: () => number): void => metrics.gauge({ name, help }, read)
  gauge('open_requests', 'Running requests.', () => load.counts.requests)
  gauge('open_streams', 'Requests with a streaming response.', () => load.counts.streams)
  gauge('held_polls', 'Requests kept open until a video is ready.', () => load.counts.polls)
  gauge('open_body_bytes', 'Bytes of the bodies of running requests.', () => load.counts.bytes)
  metrics.gauge({
    name: 'event_loop_lag_seconds', help: 'Average delay of the event loop over half a second.', across: 'max'
  }, () => load.lagMs() / 1000)
  metrics.counter({ name: 'shed_total', help: 'Requests rejected because of the load.' }, () => load.shedCount)
}
