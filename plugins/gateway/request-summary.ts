import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { RequestSummary, RequestListener } from '../../services/requests/request-summary.ts'
import { afterWork } from '../../services/requests/request-record.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Calls `listener` for each request once its response is closed and its cost is final. It must be fast
     * and not throw.
     */
    onRequestEnd (listener: RequestListener): void
  }
}

/** Reports every finished request to the plugins that count, log or trace requests. */
export default fp(async app => {
  const listeners: RequestListener[] = []
  app.decorate('onRequestEnd', listener => { listeners.push(listener) })
  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = performance.now()
    reply.raw.on('close', () => {
      const summary = summaryOf(request, reply, startedMs)
      // A call may continue without its client, which is charged later.
      afterWork(summary.record, () => { for (const listener of listeners) listener(summary) })
    })
    done()
  })
}, { name: 'request-summary', dependencies: ['auth', 'request-record', 'cors'] })

function summaryOf (request: FastifyRequest, { raw }: FastifyReply, startedMs: number): RequestSummary {
  const { headers: { traceparent }, routeOptions: { url, config } } = request
  return {
    id: request.id,
    // Set only behind authentication.
    key: request.apiKey ?? null,
    method: request.method,
    route: url ?? null,
    operation: config?.operation ?? null,
    path: pathOf(request.url),
    status: raw.statusCode,
    isClientGone: !raw.writableFinished,
    traceparent: typeof traceparent === 'string' ? traceparent : null,
    sent: request,
    record: request.record,
    startedMs,
    endedMs: performance.now()
  }
}

const maxPathLength = 200

/** Cut, because a client may send a path of any length. */
function pathOf (url: string): string {
  const end = url.indexOf('?')
  return url.slice(0, end === -1 ? maxPathLength : Math.min(end, maxPathLength))
}
