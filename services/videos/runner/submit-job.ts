import { UpstreamError } from '../../shared/errors.ts'
import { MediaUnavailable } from '../../media/errors.ts'
import type { FrameImage, VideoProvider, VideoTask } from '../../providers/provider-video.ts'
import { awaitProvider, backoff, type Next, type RunnerContext } from './runner-context.ts'
import { failedEnd, endJob, noProvider, pictureNotStored, submitUnknown, withoutFrames, type End } from './end-job.ts'
import { maxTries } from './find-due-end.ts'
import type { JobCandidate, Job, LiveJob } from '../job.ts'
import { retryWrite } from './retry-write.ts'
import { toFrameImage } from './to-frame-image.ts'

/**
 * Submits a job, or searches for one in doubt: one that its provider may have, but whose handle is unknown.
 * It is sent again only if it certainly did not arrive, to a provider whose submits are idempotent, or if the
 * operator wants that. Returns when the next try is due; `findDueEnd` ends a job in doubt that has none left.
 */
export async function submitJob (
  context: RunnerContext, live: LiveJob, provider: VideoProvider | undefined
): Promise<Next> {
  const candidate = live.candidates[live.candidate]
  if (candidate === undefined || provider === undefined) {
    return live.inDoubt ? awaitProvider(context, live) : await nextCandidate(context, live, null)
  }
  const job = await context.rows.get(live.id)
  if (job === undefined) return 'lost'
  if (live.inDoubt && !provider.submitsOnce) {
    const next = await search(context, live, job, candidate, provider)
    if (next !== null) return next
  }
  if (!live.isIntended) {
    // The intent is on disk before anything is sent, so a node that adopts the job knows of it.
    const intent = { attempts: live.tries + 1, candidate: live.candidate }
    if (!await retryWrite(context, live.id, () => context.rows.change(live, intent))) return 'lost'
  }
  live.isIntended = false
  live.tries += 1
  return await send(context, live, job, candidate, provider)
}

async function send (
  context: RunnerContext, live: LiveJob, job: Job, candidate: JobCandidate, provider: VideoProvider
): Promise<Next> {
  let handle: string
  try {
    const task = await toTask(context, job, candidate, provider)
    // Not aborted when the node closes, because its outcome would be unknown.
    handle = (await provider.submit(task, AbortSignal.timeout(context.timing.callMs))).handle
  } catch (error) {
    return await onSubmitError(context, live, asUpstreamError(error))
  }
  return await submitted(context, live, job, handle, provider)
}

/** A defect of an adapter counts like an unreadable response. */
function asUpstreamError (error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  return new UpstreamError('bad_reply', 'maybe', 'The call failed in an unexpected way.', { cause: error })
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
  context.log.warn({ job: live.id, err: error, sent: error.sent }, 'a job could not be submitted')
  if (isRequestAtFault(error) && error.sent !== 'maybe') return await endJob(context, live, failedEnd(error, live.inDoubt))
  live.inDoubt ||= error.sent === 'maybe'
  // A later refusal says nothing about an earlier submit.
  return live.inDoubt ? pauseInDoubt(context, live, error) : await nextCandidate(context, live, error)
}

function pauseInDoubt ({ timing }: RunnerContext, { tries }: LiveJob, error: UpstreamError): Next {
  if (tries >= maxTries) return { after: 0 }
  return { after: Math.max(timing.doubtMs, backoff(timing, tries, error.details.retryAfterMs)) }
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
  if (isLast && (error === null || !mayPass(error) || live.tries >= maxTries)) {
    return await endJob(context, live, endFor(error))
  }
  live.candidate = isLast ? 0 : next
  const change = { candidate: live.candidate, attempts: 0 }
  if (!await retryWrite(context, live.id, () => context.rows.change(live, change))) return 'lost'
  return { after: isLast ? backoff(context.timing, live.tries, error?.details.retryAfterMs) : 0 }
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

/** Searches for a job in doubt; null if it may be sent again. */
async function search (
  context: RunnerContext, live: LiveJob, job: Job, candidate: JobCandidate, provider: VideoProvider
): Promise<Next | null> {
  if (provider.find === undefined) {
    return context.settings().onAmbiguous === 'resubmit' ? null : await endJob(context, live, submitUnknown)
  }
  let handle: string | null
  try {
    const task = { ...await toTask(context, job, candidate, null), submittedAt: job.createdAt }
    handle = await provider.find(task, AbortSignal.timeout(context.timing.callMs))
  } catch (error) {
    live.tries += 1
    context.log.warn({ job: live.id, err: error }, 'a job could not be searched for')
    return pauseInDoubt(context, live, asUpstreamError(error))
  }
  if (handle !== null) return await submitted(context, live, job, handle, provider)
  live.inDoubt = false
  return null
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
