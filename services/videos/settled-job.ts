import type { SettledRecord } from '../extensions/types.ts'
import { usdText } from '../shared/money.ts'
import type { Job } from './job.ts'

/** The end of a job as plugins get it; its id stands for that of its request. */
export function settledJob (job: Job): SettledRecord {
  const { id, apiKey, account, tags, model, candidates, candidate, costNano, failure, attempts } = job
  const last = candidates[candidate]
  return {
    requestId: id,
    kind: 'video',
    key: apiKey,
    account,
    tags,
    requestedModel: model,
    model,
    provider: last?.provider ?? null,
    upstreamModel: last?.model ?? null,
    usage: null,
    costUsd: costNano === null ? null : usdText(costNano),
    status: failure?.status ?? 200,
    code: failure?.code ?? null,
    attempts,
    isStream: false,
    tookMs: job.finishedAt === null ? null : job.finishedAt - job.createdAt,
    plugins: []
  }
}
