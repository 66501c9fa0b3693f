import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Finished, FinishedListener } from '../services/finished.ts'
import { createTrace, type Trace } from '../services/trace.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Calls `listener` for every request when its response is closed. It must be quick and not throw. */
    onFinished (listener: FinishedListener): void
  }

  interface FastifyRequest { trace: Trace }
}

/** Gives each request its trace, and tells what came of it to all that keep count of requests. */
export default fp(async app => {
  const listeners: FinishedListener[] = []
  app.decorateRequest('trace')
  app.decorate('onFinished', listener => { listeners.push(listener) })
  app.addHook('onRequest', (request, reply, done) => {
    request.trace = createTrace()
    const startedMs = performance.now()
    reply.raw.on('close', () => {
      const finished = describe(request, reply, startedMs)
      for (const listener of listeners) listener(finished)
    })
    done()
  })
}, { name: 'finished' })

function describe (request: FastifyRequest, { raw }: FastifyReply, startedMs: number): Finished {
  const { traceparent } = request.headers
  return {
    id: request.id,
    // There only behind authentication.
    key: request.apiKey ?? null,
    method: request.method,
    route: request.routeOptions.url ?? null,
    path: pathOf(request.url),
    status: raw.statusCode,
    isClientGone: !raw.writableFinished,
    traceparent: typeof traceparent === 'string' ? traceparent : null,
    trace: request.trace,
    startedMs,
    endedMs: performance.now()
  }
}

/** Cut, because a client may send any length. */
function pathOf (url: string): string {
  return (url.split('?', 1)[0] ?? '').slice(0, 200)
}
