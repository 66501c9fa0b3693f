import { GatewayError, type UpstreamError } from '../../shared/errors.ts'
import type { Posting } from '../../ledger/ledger.ts'
import { fromUpstream } from '../../http/upstream-errors.ts'
import type { Next, RunnerContext } from './runner-context.ts'
import type { FinalState, Job, JobFailure, JobVideo, LiveJob } from '../job.ts'
import { retryWrite } from './retry-write.ts'
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
  const { rows, store, log } = context
  const ended = await retryWrite(context, live.id, () => store.transaction(async queries => {
    const job = await rows.get(live.id, queries)
    if (job === undefined) return undefined
    // What is read here never changes; the update checks that this node still owns the job.
    const posting = postingOf(job, end)
    const at = Date.now()
    const changed = await rows.change(live, {
      state: end.state,
      costNano: end.state === 'succeeded' ? posting.amountNano : 0,
      ...(end.state === 'succeeded' ? { videos: end.videos, progress: 100 } : { failure: end.failure }),
      task: withoutFrames(job),
      finishedAt: at,
      expiresAt: at + context.timing.keepMs
    }, queries)
    if (!changed) return undefined
    if (job.hold !== null) {
      if (end.state === 'succeeded') await context.holds.settle(queries, job.hold, posting, at)
      else if (end.mayBeCharged) await context.holds.suspend(queries, job.hold, posting, at)
      else await context.holds.release(queries, job.hold, at)
    }
    return await rows.get(live.id, queries)
  }))
  const job = ended ?? await retryWrite(context, live.id, () => rows.get(live.id))
  // The database may have committed this very change without its answer arriving.
  if (job === undefined || job.finishedAt === null) return 'lost'
  const level = end.state !== 'succeeded' && end.mayBeCharged ? 'error' : 'info'
  log[level]({ job: job.id, model: job.model, state: job.state, code: job.failure?.code ?? undefined }, 'a job has ended')
  return { ended: job }
}

/**
 * What a job is charged: its seconds at the price of its start; if its length is unknown, what the provider
 * reports; never more than the hold.
 */
function postingOf (job: Job, end: End): Posting {
  const heldNano = job.hold?.amountNano ?? 0
  const base = { ref: job.id, model: job.model, estimated: false }
  if (end.state !== 'succeeded') return { ...base, amountNano: heldNano, usage: { seconds: job.seconds }, estimated: true }
  const { seconds, providerCostNano } = end
  const exactNano = seconds === null ? providerCostNano : videoCostNano(job.secondNano, seconds)
  const usage = {
    seconds: Math.min(seconds ?? job.seconds, job.seconds),
    videos: end.videos.length,
    ...(providerCostNano === null ? {} : { providerCostNano })
  }
  const amountNano = Math.min(exactNano ?? heldNano, heldNano)
  return { ...base, amountNano, usage, estimated: exactNano === null }
}

/** The task without the bytes of its frames, which may be megabytes and are not needed again. */
export function withoutFrames ({ task }: Pick<Job, 'task'>): Job['task'] {
  const kept = (picture: string | null) => picture?.startsWith('data:') === true ? null : picture
  return { ...task, firstFrame: kept(task.firstFrame), lastFrame: kept(task.lastFrame) }
}

/** The provider refused the job or failed. */
export function failedEnd (error: UpstreamError): End {
  return { state: 'failed', failure: failureFrom(fromUpstream(error)), mayBeCharged: false }
}

export function failureFrom ({ status, type, code, param, message }: GatewayError): JobFailure {
  return { status, type, code, param, message }
}

function badGatewayEnd (code: string, message: string, mayBeCharged = true): End {
  return { state: 'failed', failure: failureFrom(GatewayError.badGateway(message, { code })), mayBeCharged }
}

export const submitUnknown = badGatewayEnd('upstream_submit_unknown',
  'The connection to the provider was lost while the video was requested, so it is unknown whether the ' +
  'provider makes it. You were not charged.')

export const resultLost = badGatewayEnd('upstream_result_lost',
  'The video was made, but could not be downloaded from the provider. You were not charged.')

export const jobLost = badGatewayEnd('upstream_job_lost',
  'The provider does not know the video any more. You were not charged.')

/** No provider received the job, or none is configured. */
export const noProvider = badGatewayEnd('no_provider', 'No provider can make this video at the moment.', false)

/** The provider took too long. */
export const tooLate: End = {
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
