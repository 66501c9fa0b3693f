import type { onRequestHookHandler } from 'fastify'
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
    /** What this process has taken on; whoever holds a request for long counts it here. */
    load: Load
    /** What this node has under way, with all its workers. Rejects with an Error when they do not answer. */
    nodeCounts (): Promise<LoadCounts>
    /**
     * An onRequest hook for scopes that do work: turns requests away before anything is read of them. The
     * others go on together at the end of the turn.
     */
    shedLoad: onRequestHookHandler
    /** An onRequest hook after authentication: turns away a key that has its share of a full node. */
    keepShare: onRequestHookHandler
  }

  interface FastifyRequest {
    /** What the request's key has under way; null before `keepShare`, and for operators. */
    keyLoad: KeyLoad | null
    /** Bytes of its body and what was made of it, as `load.take` has counted them. */
    bodyBytes: number
    /** Counts bytes of the request's body. Throws GatewayError 503 when there is no room for them. */
    takeBytes (bytes: number): void
    /** Counts the request's body no longer: nothing refers to it. */
    giveBytes (): void
    /**
     * Runs work on a large body of the request when it is the turn of its key; never, if the client has left.
     */
    inBodyTurn (work: () => Promise<void>): Promise<void>
  }
}

interface OverloadOptions extends LoadLimits {
  /** Sums the counts of this process and others; those of this process alone by default. */
  nodeCounts?: (() => Promise<LoadCounts>) | undefined
}

/**
 * Bounds what the process takes on. Beyond it a request is answered at once with a text that is always the
 * same, before its key is looked up or its body read. Admin and health are never turned away.
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
    // A client that left while its key was looked up sends no body and awaits no answer.
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

  const { metrics } = app
  const gauge = (name: string, help: string, read: () => number): void => metrics.gauge({ name, help }, read)
  gauge('open_requests', 'Requests under way.', () => load.counts.requests)
  gauge('open_streams', 'Requests that are answered by a stream.', () => load.counts.streams)
  gauge('held_polls', 'Requests that are held until a video is there.', () => load.counts.polls)
  gauge('open_body_bytes', 'Bytes of the bodies of requests under way.', () => load.counts.bytes)
  metrics.gauge({
    name: 'event_loop_lag_seconds', help: 'How late the event loop was on average over half a second.', across: 'max'
  }, () => load.lagMs() / 1000)
  metrics.counter({ name: 'shed_total', help: 'Requests turned away because of the load.' }, () => load.shedCount)
  app.addHook('onClose', async () => load.stop())
}, { name: 'overload', dependencies: ['metrics', 'auth', 'request-record'] })
