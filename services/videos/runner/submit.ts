import { UpstreamError } from '../../shared/errors.ts'
import { MediaUnavailable } from '../../media/errors.ts'
import type { FrameImage, VideoProvider, VideoTask } from '../../providers/provider-video.ts'
import { backoff, type Next, type RunnerContext } from './runner-context.ts'
import { failedEnd, endJob, noProvider, pictureNotStored, submitUnknown, tooLate, withoutFrames, type End } from './end-job.ts'
import type { JobCandidate, Job, LiveJob } from '../job.ts'
import { retryWrite } from './retry-write.ts'
import { toFrameImage } from './frame-images.ts'

/** Submits over all candidates, as long as it is certain that no provider received the job. */
const maxSubmits = 5
/** How often a provider is asked for the handle of a job. */
const maxFinds = 5

/**
 * Submits a job at most once: it is sent again only if it certainly did not arrive, or to a provider whose
 * submits are idempotent.
 */
export async function submit (context: RunnerContext, live: LiveJob): Promise<Next> {
  const candidate = live.candidates[live.candidate]
  const provider = candidate && context.provider(candidate.provider)
  if (candidate === undefined || provider === undefined) return await nextCandidate(context, live, null)
  // Nothing was sent.
  const isLate = !live.inDoubt && context.store.clock() >= live.deadlineAt
  if (isLate) return await endJob(context, live, { ...tooLate, mayBeCharged: false })
  const job = await context.rows.get(live.id)
  if (job === undefined) return 'lost'
  if (live.inDoubt) {
    const next = await resolveDoubt(context, live, job, candidate, provider)
    if (next !== null) return next
  } else if (live.attempts === 0) {
    // The intent is on disk before anything is sent, so a node that adopts the job knows of it.
    if (!await retryWrite(context, live.id, () => context.rows.change(live, { attempts: 1, candidate: live.candidate }))) return 'lost'
    live.attempts = 1
  }
  return await send(context, live, job, candidate, provider)
}

async function send (
  context: RunnerContext, live: LiveJob, job: Job, candidate: JobCandidate, provider: VideoProvider
): Promise<Next> {
  try {
    const task = await toTask(context, job, candidate, provider)
    // Not aborted when the node closes, because its outcome would be unknown.
    const { handle } = await provider.submit(task, AbortSignal.timeout(context.timing.callMs))
    return await submitted(context, live, job, handle, provider)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return await onSubmitError(context, live, error)
  }
}

async function submitted (
  context: RunnerContext, live: LiveJob, job: Job, handle: string, { polling }: VideoProvider
): Promise<Next> {
  const submittedAt = context.store.clock()
  const change = { state: 'queued', handle, submittedAt, task: withoutFrames(job) } as const
  if (!await retryWrite(context, live.id, () => context.rows.change(live, change))) {
    context.log.error({ job: live.id, handle }, 'another node took a job over while it was submitted')
    return 'lost'
  }
  Object.assign(live, { state: 'queued', handle, submittedAt, inDoubt: false, failures: 0 })
  return { after: polling.minMs }
}

async function onSubmitError (context: RunnerContext, live: LiveJob, error: UpstreamError): Promise<Next> {
  live.failures += 1
  context.log.warn({ job: live.id, err: error, sent: error.sent }, 'a job could not be submitted')
  // The provider may have the job, but its handle is unknown.
  if (error.sent === 'maybe') {
    live.inDoubt = true
    return { after: context.timing.doubtMs }
  }
  live.attempts = 0
  if (isRequestAtFault(error)) return await endJob(context, live, failedEnd(error))
  return await nextCandidate(context, live, error)
}

function isRequestAtFault ({ kind }: UpstreamError): boolean {
  return kind === 'bad_request' || kind === 'moderated' || kind === 'too_large'
}

/** Continues with the next candidate, with the first again after a backoff, or not at all. */
async function nextCandidate (
  context: RunnerContext, live: LiveJob, error: UpstreamError | null
): Promise<Next> {
  const next = live.candidate + 1
  const isLast = next >= live.candidates.length
  if (isLast && (error === null || !mayPass(error) || live.failures >= maxSubmits)) {
    return await endJob(context, live, endFor(error))
  }
  live.candidate = isLast ? 0 : next
  const change = { candidate: live.candidate, attempts: 0 }
  if (!await retryWrite(context, live.id, () => context.rows.change(live, change))) return 'lost'
  return { after: isLast ? backoff(context.timing, live.failures, error?.details.retryAfterMs) : 0 }
}

function endFor (error: UpstreamError | null): End {
  if (error === null) return noProvider
  return error.details.cause instanceof MediaUnavailable ? pictureNotStored : failedEnd(error)
}

/** Whether a failure may pass within seconds. The client hears of longer ones, and may retry itself. */
function mayPass ({ sent, kind, details: { retryAfterMs = 0 } }: UpstreamError): boolean {
  return sent === 'no' || ((kind === 'rate' || kind === 'overloaded') && retryAfterMs <= maxRetryAfterMs)
}

const maxRetryAfterMs = 5_000

/** Finds out whether a job arrived; null if it may be sent (again). */
async function resolveDoubt (
  context: RunnerContext, live: LiveJob, job: Job, candidate: JobCandidate, provider: VideoProvider
): Promise<Next | null> {
  if (provider.submitsOnce) return null
  if (provider.find !== undefined) {
    try {
      const task = { ...await toTask(context, job, candidate, null), submittedAt: job.createdAt }
      const handle = await provider.find(task, AbortSignal.timeout(context.timing.callMs))
      if (handle !== null) return await submitted(context, live, job, handle, provider)
      live.inDoubt = false
      return null
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      const { retryAfterMs } = error.details
      live.failures += 1
      if (live.failures <= maxFinds) return { after: backoff(context.timing, live.failures, retryAfterMs) }
    }
  }
  if (context.settings().onAmbiguous === 'resubmit' && live.failures < maxSubmits) return null
  return await endJob(context, live, submitUnknown)
}

/** The task as a provider takes it; without a provider its frames stay as they are. */
async function toTask (
  context: RunnerContext, job: Job, { model }: JobCandidate, provider: VideoProvider | null
): Promise<VideoTask> {
  const frame = async (url: string | null): Promise<FrameImage | null> =>
    url === null ? null : await toFrameImage(context, job, url, provider?.frameFormat)
  const { task } = job
  const [firstFrame, lastFrame] = await Promise.all([frame(task.firstFrame), frame(task.lastFrame)])
  return { ...task, model, submitKey: job.id, firstFrame, lastFrame }
}
