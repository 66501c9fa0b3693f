import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { usdFromNano } from '../services/money.ts'
import { createTrace, type Trace } from '../services/trace.ts'

declare module 'fastify' {
  interface FastifyRequest { trace: Trace }
}

/** Writes one line per finished request: numbers and names, never a prompt or a key. */
export default fp(async app => {
  app.decorateRequest('trace')
  app.addHook('onRequest', (request, reply, done) => {
    request.trace = createTrace()
    const startedMs = performance.now()
    reply.raw.once('close', () => {
      app.log.info(lineOf(request, reply, startedMs), 'request')
    })
    done()
  })
}, { name: 'access-log' })

function lineOf (request: FastifyRequest, { raw }: FastifyReply, startedMs: number): object {
  const { trace } = request
  const usage = trace.report?.usage
  return {
    id: request.id,
    key: request.apiKey?.id,
    method: request.method,
    path: request.routeOptions.url ?? pathOf(request.url),
    status: raw.statusCode,
    outcome: raw.writableFinished ? trace.failure?.message : 'client_gone',
    asked: trace.asked ?? undefined,
    model: trace.model ?? undefined,
    provider: trace.provider ?? undefined,
    route: trace.route ?? undefined,
    attempts: trace.attempts || undefined,
    used: trace.report?.model ?? trace.upstreamModel ?? undefined,
    promptTokens: usage?.prompt,
    completionTokens: usage?.completion,
    images: trace.images ?? undefined,
    costUsd: trace.costNano === null ? undefined : usdFromNano(trace.costNano),
    firstByteMs: trace.firstByteAtMs === null ? undefined : tenths(trace.firstByteAtMs - startedMs),
    totalMs: tenths(performance.now() - startedMs)
  }
}

/** Without the query, which may carry anything; cut, because a client may send any length. */
function pathOf (url: string): string {
  return (url.split('?', 1)[0] ?? '').slice(0, 200)
}

function tenths (ms: number): number {
  return Math.round(ms * 10) / 10
}
