import fp from 'fastify-plugin'
import { isInWords } from '../../services/http/upstream-errors.ts'
import type { RequestSummary } from '../../services/requests/request-summary.ts'
import { requestedModelOf } from '../../services/requests/request-record.ts'
import { usdFromNano } from '../../services/shared/money.ts'

/** Logs one line per finished request, with numbers and names but never a prompt or a key. */
export default fp(async app => {
  app.onRequestEnd(finished => app.log.info(lineOf(finished), 'request'))
}, { name: 'access-log', dependencies: ['request-summary'] })

function lineOf (finished: RequestSummary): object {
  const { id, key, method, route, path, status, isClientGone, record, startedMs, endedMs } = finished
  const usage = record.report?.usage
  return {
    reqId: id,
    key: key?.id,
    method,
    path: route ?? path,
    status,
    code: record.code ?? undefined,
    words: record.words ?? undefined,
    outcome: isClientGone ? 'client_gone' : outcomeOf(record.failure),
    asked: requestedModelOf(record) ?? undefined,
    model: record.model ?? undefined,
    provider: record.provider ?? undefined,
    route: record.route ?? undefined,
    attempts: record.attempts || undefined,
    used: record.report?.model ?? record.upstreamModel ?? undefined,
    promptTokens: usage?.prompt,
    completionTokens: usage?.completion,
    isCut: record.report?.isCut === true ? true : undefined,
    images: record.images ?? undefined,
    job: record.job ?? undefined,
    plugins: record.plugins ?? undefined,
    priceBasis: record.priceBasis,
    costUsd: record.costNano === null ? undefined : usdFromNano(record.costNano),
    firstByteMs: record.firstByteAtMs === null ? undefined : tenths(record.firstByteAtMs - startedMs),
    totalMs: tenths(endedMs - startedMs)
  }
}

/** How a request failed, without the words of a provider: `words` has them, if the operator keeps them. */
function outcomeOf (failure: Error | null): string | undefined {
  return isInWords(failure?.cause) ? 'The provider failed.' : failure?.message
}

function tenths (ms: number): number {
  return Math.round(ms * 10) / 10
}
