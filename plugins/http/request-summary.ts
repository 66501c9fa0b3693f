import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Finished, FinishedListener } from '../../services/requests/request-summary.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Calls `listener` for each request soon after its response is closed. It must be quick, not throw. */
    onFinished (listener: FinishedListener): void
    /** Tells the listeners now of all requests whose response is closed. */
    tellFinished (): void
  }
}

/**
 * How long a finished request waits for others. All that a request runs drives what the listeners run out of
 * the processor's caches; for many requests in a row it is fetched once.
 */
const gatherMs = 10

/** Reports every finished request to the plugins that count, log or trace requests. */
export default fp(async app => {
  const listeners: FinishedListener[] = []
  app.decorate('onFinished', listener => { listeners.push(listener) })
  let waiting: Finished[] = []
  let timer: NodeJS.Timeout | undefined
  function tell (): void {
    clearTimeout(timer)
    const told = waiting
    waiting = []
    for (const listener of listeners) for (const finished of told) listener(finished)
  }
  app.decorate('tellFinished', tell)
  app.addHook('onClose', async () => tell())
  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = performance.now()
    reply.raw.on('close', () => {
      if (waiting.length === 0) timer = setTimeout(tell, gatherMs)
      waiting.push(describe(request, reply, startedMs))
    })
    done()
  })
}, { name: 'request-summary', dependencies: ['auth', 'trace'] })

function describe (request: FastifyRequest, { raw }: FastifyReply, startedMs: number): Finished {
  const { traceparent } = request.headers
  return {
    id: request.id,
    // There only behind authentication.
    key: request.apiKey ?? null,
    method: request.method,
    route: request.routeOptions.url ?? null,
    operation: request.routeOptions.config?.operation ?? null,
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
