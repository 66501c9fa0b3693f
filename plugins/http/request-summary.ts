import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { RequestSummary, RequestListener } from '../../services/requests/request-summary.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Calls `listener` for each request soon after its response is closed and its cost is known. It must be
     * fast and not throw.
     */
    onRequestEnd (listener: RequestListener): void
    /** Calls the listeners now for all requests that have ended. */
    flushRequestEnds (): void
  }
}

/**
 * How long finished requests are collected, and how many. The code of the listeners evicts that of requests
 * from the processor's caches; for a batch it is loaded once. What is kept longer has to be copied by more
 * collections of garbage.
 */
const batchMs = 10
const batchSize = 16

/** Reports every finished request to the plugins that count, log or trace requests. */
export default fp(async app => {
  const listeners: RequestListener[] = []
  app.decorate('onRequestEnd', listener => { listeners.push(listener) })
  let pending: RequestSummary[] = []
  let timer: NodeJS.Timeout | undefined
  function flush (): void {
    clearTimeout(timer)
    const batch = pending
    pending = []
    for (const listener of listeners) for (const summary of batch) listener(summary)
  }
  function add (summary: RequestSummary): void {
    if (pending.length === 0) timer = setTimeout(flush, batchMs)
    if (pending.push(summary) === batchSize) flush()
  }
  app.decorate('flushRequestEnds', flush)
  app.addHook('onClose', async () => flush())
  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = performance.now()
    reply.raw.on('close', () => {
      const summary = summaryOf(request, reply, startedMs)
      // A call may go on without its client, which is charged for it later.
      if (summary.trace.isOpen) summary.trace.onEnd = () => add(summary)
      else add(summary)
    })
    done()
  })
}, { name: 'request-summary', dependencies: ['auth', 'trace'] })

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
    trace: request.trace,
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
