import { GatewayError, type UpstreamError } from '../../shared/errors.ts'
import { redacted } from '../../shared/redact.ts'
import { BoundedCharge } from '../../billing/ledger/types.ts'
import type { JobHold, JobHolds } from '../../billing/ledger/hold/job-holds.ts'
import type { Posting } from '../../billing/ledger/ledger.ts'
import type { EntryRow } from '../../billing/ledger/sql/rows.ts'
import { expireMediaOfJob } from '../../media/rows.ts'
import type { Queries } from '../../store/store.ts'
import { fromUpstream } from '../../http/upstream-errors.ts'
import type { Next, RunnerContext } from './runner-context.ts'
import type { FinalState, Job, JobFailure, JobVideo, LiveJob } from '../job.ts'
import { retryWrite } from './retry-write.ts'
import { videoLength } from '../../providers/provider-video.ts'
import { secondsCostNano } from '../../billing/provider-cost.ts'
import { releaseWebhooks } from '../webhooks/webhook-rows.ts'
import { videoCostNano } from '../../billing/video-price.ts'

/** How a job ends. */
export type End =
  | { state: 'succeeded', videos: readonly JobVideo[], seconds: number | null, providerCostNano: number | null }
  | {
    state: Exclude<FinalState, 'succeeded'>
    failure: JobFailure
    /** The provider may have made and charged the video, which an operator must check. */
    mayBeCharged: boolean
  }

/** Ends a job and its hold in one transaction. Idempotent. */
export async function endJob (context: RunnerContext, live: LiveJob, end: End): Promise<Next> {
  const { rows, store, log, holds } = context
  let suspended: readonly EntryRow[] = []
  const ended = await retryWrite(context, live.id, () => store.transaction(async queries => {
    const job = await rows.get(live.id, queries)
    if (job === undefined) return undefined
    // The posting depends only on columns that never change; `change` checks that this node owns the job.
    const posting = postingOf(job, end)
    const at = store.clock()
    const changed = await rows.change(live, {
      state: end.state,
      costNano: end.state === 'succeeded' ? new BoundedCharge(holdOf(job).amountNano, posting).amountNano : 0,
      ...(end.state === 'succeeded' ? { videos: end.videos, progress: 100 } : { failure: end.failure }),
      task: withoutFrames(job),
      // Nothing was made: the next request with its name is a new one.
      ...(end.state === 'cancelled' ? { dedupe: null } : {}),
      copyError: null,
      finishedAt: at,
      expiresAt: at + context.timing.keepMs
    }, queries)
    if (!changed) return undefined
    suspended = await endHold(holds, queries, holdOf(job), { end, posting, at })
    const ended = await rows.get(live.id, queries)
    // A job without a result leaves parts of a video and the request's pictures, which no client can fetch.
    if (end.state !== 'succeeded' || ended?.deletedAt != null) await expireMediaOfJob(queries, live.id, at)
    if (ended !== undefined) await releaseWebhooks(queries, ended)
    return ended
  }))
  const job = ended ?? await retryWrite(context, live.id, () => rows.get(live.id))
  // The database may have committed this change although the connection broke.
  if (job === undefined || job.finishedAt === null) return 'lost'
  context.reportSuspended(suspended)
  if (ended !== undefined) reportCost(context, postingOf(job, end))
  log.info({ job: job.id, model: job.model, state: job.state, code: job.failure?.code ?? undefined }, 'a job has ended')
  return { ended: job }
}

/** A free job held nothing, and is booked all the same. */
function holdOf ({ hold, id, chain, apiKey: key }: Job): JobHold {
  return hold ?? { id, chain, key, amountNano: 0 }
}

function reportCost (
  { onReportedCost }: RunnerContext, { model, provider = null, amountNano, costNano, reportedNano }: Posting
): void {
  if (reportedNano === undefined) return
  onReportedCost?.({ provider, model, expectedNano: costNano ?? amountNano, reportedNano })
}

interface HoldEnd { end: End, posting: Posting, at: number }

async function endHold (
  holds: JobHolds, queries: Queries, hold: JobHold, { end, posting, at }: HoldEnd
): Promise<readonly EntryRow[]> {
  if (end.state === 'succeeded') return await holds.settle(queries, hold, posting, at)
  if (end.mayBeCharged) return await holds.suspend(queries, hold, posting, at)
  return await holds.release(queries, hold, at)
}

/**
 * What a job costs: its seconds at the price of its start; if its length is unknown, what the provider
 * reports, else what is held.
 */
function postingOf (job: Job, end: End): Posting {
  const heldNano = holdOf(job).amountNano
  const { provider = null, costNano: secondCostNano = null } = job.candidates[job.candidate] ?? {}
  const base = { ref: job.id, model: job.model, provider, tags: job.tags, estimated: false }
  if (end.state !== 'succeeded') return { ...base, amountNano: heldNano, usage: { seconds: job.seconds }, estimated: true }
  const { providerCostNano } = end
  const length = videoLength(end.seconds)
  const seconds = length === null ? null : billedSeconds(length, job.seconds)
  const reportedNano = providerCostNano ?? undefined
  const unmeasuredNano = heldNano === 0 ? 0 : providerCostNano
  const exactNano = seconds === null ? unmeasuredNano : videoCostNano(job.secondNano, seconds)
  const usage = { seconds: seconds ?? job.seconds, videos: end.videos.length }
  const costNano = secondsCostNano(secondCostNano, usage.seconds)
  const amountNano = exactNano ?? heldNano
  return { ...base, amountNano, usage, estimated: exactNano === null, costNano, reportedNano }
}

/** A video may be some frames longer than it was ordered, which no provider charges. */
function billedSeconds (seconds: number, orderedSeconds: number): number {
  return seconds < orderedSeconds + 1 ? Math.min(seconds, orderedSeconds) : seconds
}

/** The task without the bytes of its frames, which may be megabytes and are not needed again. */
export function withoutFrames ({ task }: Pick<Job, 'task'>): Job['task'] {
  const kept = (picture: string | null) => picture?.startsWith('data:') === true ? null : picture
  return { ...task, firstFrame: kept(task.firstFrame), lastFrame: kept(task.lastFrame) }
}

/** The provider failed at an accepted job. The client gets its reason unless it is about the gateway. */
export function jobFailedEnd (error: UpstreamError): End {
  if (error.kind !== 'bad_reply' && error.kind !== 'timeout') return failedEnd(error)
  const said = redacted(error.message, maxReason)
  const message = `The provider could not make the video${said === '' ? '.' : `: ${said}`}`
  const status = error.kind === 'timeout' ? 504 : 502
  return badGatewayEnd('video_failed', message, false, status)
}

const maxReason = 1000

/** The provider refused the job. A refusal of content has one code, whatever the provider's is. */
export function failedEnd (error: UpstreamError, mayBeCharged = false): End {
  const failure = failureFrom(fromUpstream(error))
  const code = error.kind === 'moderated' ? 'content_policy_violation' : failure.code
  return { state: 'failed', failure: { ...failure, code }, mayBeCharged }
}

function failureFrom ({ status, type, code, param, message }: GatewayError): JobFailure {
  return { status, type, code, param, message }
}

function badGatewayEnd (code: string, message: string, mayBeCharged = true, status = 502): End {
  return { state: 'failed', failure: failureFrom(GatewayError.badGateway(message, { code, status })), mayBeCharged }
}

export const submitUnknown = badGatewayEnd('upstream_submit_unknown',
  'The connection to the provider was lost while the video was requested, so it is unknown whether the ' +
  'provider makes it. You were not charged.')

export const resultLost = badGatewayEnd('upstream_result_lost',
  'The video was made, but could not be downloaded from the provider. You were not charged.')

export const notStored = badGatewayEnd('media_store_unavailable',
  'The video was made, but the gateway could not store it. You were not charged.', true, 503)

/** Nothing was sent to a provider. */
export const pictureNotStored = badGatewayEnd('media_store_unavailable',
  'The gateway could not store a picture of the request. You were not charged.', false, 503)

export const resultTooLarge = badGatewayEnd('video_too_large',
  'The video was made, but it is larger than the gateway stores. You were not charged.')

export const jobLost = badGatewayEnd('upstream_job_lost',
  'The provider does not know the video any more. You were not charged.')

/** No provider received the job, or none is configured. */
export const noProvider = badGatewayEnd('no_provider', 'No provider can make this video at the moment.', false)

/** The provider took too long. */
export const tooLate: Extract<End, { failure: JobFailure }> = {
  state: 'expired',
  failure: failureFrom(GatewayError.badGateway('The provider did not make the video in time. You were not charged.',
    { status: 504, code: 'video_timeout' })),
  mayBeCharged: true
}

/** Cancelled by an operator, or because no client waits. */
export function cancelledEnd (why: string, mayBeCharged: boolean): End {
  const failure = failureFrom(new GatewayError(409, 'invalid_request_error', `The job was cancelled: ${why}.`,
    { code: 'job_cancelled' }))
  return { state: 'cancelled', failure, mayBeCharged }
}
