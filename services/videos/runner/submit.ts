import { UpstreamError } from '../../shared/errors.ts'
import type { FrameImage, VideoProvider, VideoTask } from '../../providers/provider-video.ts'
import { backoff } from './runner-context.ts'
import type { Next, RunnerContext } from './runner-context.ts'
import { failed, finish, noProvider, submitUnknown, withoutPictures } from './end-job.ts'
import type { Candidate, Job, LiveJob } from '../job.ts'
import { persist } from './retry-write.ts'
import { toPicture } from './pictures.ts'

/** How often a job is sent at most, all candidates counted, while it is certain that nobody has got it. */
const maxSubmits = 5
/** How often a provider is asked whether it has a job. */
const maxFinds = 5

/**
 * Brings a job to a provider, at most once: it is sent again only when it is known not to have arrived, or to
 * a provider that makes one video of two equal submits.
 */
export async function submit (context: RunnerContext, live: LiveJob): Promise<Next> {
  const candidate = live.candidates[live.candidate]
  const maker = candidate && context.maker(candidate.provider)
  if (candidate === undefined || maker === undefined) return await nextCandidate(context, live, null)
  const job = await context.rows.get(live.id)
  if (job === undefined) return 'lost'
  if (live.inDoubt) {
    const next = await resolveDoubt(context, live, job, candidate, maker)
    if (next !== null) return next
  } else if (live.attempts === 0) {
    // The intent is on disk before anything is sent: whoever finds it knows that it may have been.
    if (!await persist(context, live.id, () => context.rows.change(live, { attempts: 1, candidate: live.candidate }))) return 'lost'
    live.attempts = 1
  }
  return await send(context, live, job, candidate, maker)
}

async function send (
  context: RunnerContext, live: LiveJob, job: Job, candidate: Candidate, maker: VideoProvider
): Promise<Next> {
  try {
    const task = await toTask(context, job, candidate, maker)
    // Not ended when the node closes: nobody could know what has come of it.
    const { handle } = await maker.submit(task, AbortSignal.timeout(context.timing.callMs))
    return await submitted(context, live, job, handle, maker)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return await notSubmitted(context, live, error)
  }
}

async function submitted (
  context: RunnerContext, live: LiveJob, job: Job, handle: string, { polling }: VideoProvider
): Promise<Next> {
  const submittedAt = context.clock()
  const change = { state: 'queued', handle, submittedAt, task: withoutPictures(job) } as const
  if (!await persist(context, live.id, () => context.rows.change(live, change))) {
    context.log.error({ job: live.id, handle }, 'another node has taken a job over while it was submitted')
    return 'lost'
  }
  Object.assign(live, { state: 'queued', handle, submittedAt, inDoubt: false, failures: 0 })
  return { after: polling.minMs }
}

async function notSubmitted (context: RunnerContext, live: LiveJob, error: UpstreamError): Promise<Next> {
  live.failures += 1
  context.log.warn({ job: live.id, err: error, sent: error.sent }, 'a job could not be submitted')
  // It may be under way without anybody having its handle.
  if (error.sent === 'maybe') {
    live.inDoubt = true
    return { after: context.timing.doubtMs }
  }
  live.attempts = 0
  if (isAboutTheRequest(error)) return await finish(context, live, failed(error))
  return await nextCandidate(context, live, error)
}

function isAboutTheRequest ({ kind }: UpstreamError): boolean {
  return kind === 'bad_request' || kind === 'moderated' || kind === 'too_large'
}

/** Goes on with the next candidate, with the first one again after a pause, or not at all. */
async function nextCandidate (
  context: RunnerContext, live: LiveJob, error: UpstreamError | null
): Promise<Next> {
  const next = live.candidate + 1
  const isLast = next >= live.candidates.length
  if (isLast && (error === null || !mayPass(error) || live.failures >= maxSubmits)) {
    return await finish(context, live, error === null ? noProvider : failed(error))
  }
  live.candidate = isLast ? 0 : next
  const change = { candidate: live.candidate, attempts: 0 }
  if (!await persist(context, live.id, () => context.rows.change(live, change))) return 'lost'
  return { after: isLast ? backoff(context.timing, live.failures, error?.details.retryAfterMs) : 0 }
}

/**
 * Whether a failure may be over in a moment. What lasts longer the client is told, which may come back
 * itself.
 */
function mayPass ({ sent, kind, details: { retryAfterMs = 0 } }: UpstreamError): boolean {
  return sent === 'no' || ((kind === 'rate' || kind === 'overloaded') && retryAfterMs <= maxPatienceMs)
}

const maxPatienceMs = 5_000

/** Returns null when the job may be sent (again). */
async function resolveDoubt (
  context: RunnerContext, live: LiveJob, job: Job, candidate: Candidate, maker: VideoProvider
): Promise<Next | null> {
  if (maker.submitsOnce) return null
  if (maker.find !== undefined) {
    try {
      const task = { ...await toTask(context, job, candidate, null), submittedAt: job.createdAt }
      const handle = await maker.find(task, AbortSignal.timeout(context.timing.callMs))
      if (handle !== null) return await submitted(context, live, job, handle, maker)
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
  return await finish(context, live, submitUnknown)
}

/** The task as a provider takes it; without a maker its pictures are left as they came. */
async function toTask (
  context: RunnerContext, job: Job, { model }: Candidate, maker: VideoProvider | null
): Promise<VideoTask> {
  const picture = async (url: string | null): Promise<FrameImage | null> =>
    url === null ? null : await toPicture(context, job, url, maker?.frameFormat)
  const { task } = job
  const [firstFrame, lastFrame] = await Promise.all([picture(task.firstFrame), picture(task.lastFrame)])
  return { ...task, model, submitKey: job.id, firstFrame, lastFrame }
}
