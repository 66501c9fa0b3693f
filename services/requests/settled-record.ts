import type { SettledRecord } from '../extensions/types.ts'
import { usdText } from '../shared/money.ts'
import { requestedModelOf } from './request-record.ts'
import type { RequestSummary } from './request-summary.ts'

/** The end of a request as plugins get it, without its tags. */
export function settledRecord (
  { id, key, status, operation, record, startedMs, endedMs }: RequestSummary
): SettledRecord {
  const { costNano, report, model, provider, upstreamModel, code, attempts, isStream, plugins } = record
  const usage = report?.usage ?? null
  return {
    requestId: id,
    kind: operation?.output === 'image' ? 'image' : 'chat',
    key: key?.id ?? '',
    account: key?.account ?? '',
    tags: null,
    requestedModel: requestedModelOf(record),
    model,
    provider,
    upstreamModel,
    usage: usage === null ? null : shownUsage(usage),
    costUsd: costNano === null ? null : usdText(costNano),
    status,
    code,
    attempts,
    isStream,
    tookMs: Math.round(endedMs - startedMs),
    plugins: [...plugins ?? []]
  }
}

type Usage = NonNullable<SettledRecord['usage']>

function shownUsage ({ prompt, completion, cachedRead, cacheWrite, reasoning }: Usage): Usage {
  return {
    prompt,
    completion,
    ...cachedRead !== undefined && { cachedRead },
    ...cacheWrite !== undefined && { cacheWrite },
    ...reasoning !== undefined && { reasoning }
  }
}
