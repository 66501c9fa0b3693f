import fp from 'fastify-plugin'
import type { RequestSummary } from '../../services/requests/request-summary.ts'
import { askedIn } from '../../services/requests/trace.ts'
import { usdFromNano } from '../../services/shared/money.ts'

/** Writes one line per finished request: numbers and names, never a prompt or a key. */
export default fp(async app => {
  app.onRequestEnd(finished => app.log.info(lineOf(finished), 'request'))
}, { name: 'access-log', dependencies: ['request-summary'] })

function lineOf (finished: RequestSummary): object {
  const { id, key, method, route, path, status, isClientGone, trace, startedMs, endedMs } = finished
  const usage = trace.report?.usage
  return {
    reqId: id,
    key: key?.id,
    method,
    path: route ?? path,
    status,
    code: trace.code ?? undefined,
    words: trace.words ?? undefined,
    outcome: isClientGone ? 'client_gone' : trace.failure?.message,
    asked: askedIn(trace) ?? undefined,
    model: trace.model ?? undefined,
    provider: trace.provider ?? undefined,
    route: trace.route ?? undefined,
    attempts: trace.attempts || undefined,
    used: trace.report?.model ?? trace.upstreamModel ?? undefined,
    promptTokens: usage?.prompt,
    completionTokens: usage?.completion,
    isCut: trace.report?.isCut === true ? true : undefined,
    images: trace.images ?? undefined,
    job: trace.job ?? undefined,
    costUsd: trace.costNano === null ? undefined : usdFromNano(trace.costNano),
    firstByteMs: trace.firstByteAtMs === null ? undefined : tenths(trace.firstByteAtMs - startedMs),
    totalMs: tenths(endedMs - startedMs)
  }
}

function tenths (ms: number): number {
  return Math.round(ms * 10) / 10
}
