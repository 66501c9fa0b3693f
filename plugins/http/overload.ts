import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { errorText } from '../../services/http/error-text.ts'
import { createLoad, overloaded, type Load } from '../../services/http/load.ts'
import type { LoadLimits } from '../../services/config/settings/settings.ts'

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
