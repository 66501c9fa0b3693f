import { UpstreamError } from '../../shared/errors.ts'
import type { VideoProvider, VideoState } from '../../providers/provider-video.ts'
import { backoff } from './runner-context.ts'
import type { Next, RunnerContext } from './runner-context.ts'
import { copy } from './store-result.ts'
import { cancelled, failed, finish, jobLost, noProvider, tooLate } from './end-job.ts'
import type { LiveJob } from '../job.ts'
import { persist } from './retry-write.ts'

/** Asks how far a job is, and does what follows from it. */
export async function poll (context: RunnerContext, live: LiveJob): Promise<Next> {
  const { handle } = live
  const maker = makerOf(context, live)
  if (handle === null) return await finish(context, live, noProvider)
  if (context.clock() >= live.deadlineAt) return await giveUp(context, live, maker, handle)
  if (maker === undefined) return await unreachable(context, live)
  if (live.cancel) return await cancel(context, live, maker, handle)
  if (live.state === 'queued' && maker.cancel !== undefined && await isAbandoned(context, live)) {
    if (await ask(context, maker, handle)) {
      return await finish(context, live, cancelled('nobody waited for it any more', false))
    }
  }
  let state: VideoState
  try {
    state = await maker.poll(handle, signalOf(context))
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return await notPolled(context, live, error)
  }
  live.failures = live.state === 'storing' ? live.failures : 0
  switch (state.state) {
    case 'succeeded': return await copy(context, live, state)
    case 'failed': return await finish(context, live, failed(state.error))
    case 'cancelled': return await finish(context, live, cancelled('by the provider', false))
    default: return await goesOn(context, live, state, maker)
  }
}

function makerOf (context: RunnerContext, { candidates, candidate }: LiveJob): VideoProvider | undefined {
  const chosen = candidates[candidate]
  return chosen && context.maker(chosen.provider)
}

async function goesOn (
  context: RunnerContext, live: LiveJob, { state, progress }: Extract<VideoState, { progress: unknown }>,
  maker: VideoProvider
): Promise<Next> {
  const nowMs = context.clock()
  const isNews = progress !== live.progress && nowMs - live.writtenAt >= context.timing.progressMs
  // A provider that is asked too soon may call a running job queued again.
  const later = live.state === 'running' ? 'running' : state
  if (later !== live.state || isNews) {
    if (!await persist(context, live.id, () => context.rows.change(live, { state: later, progress }))) return 'lost'
    Object.assign(live, { state: later, progress, writtenAt: nowMs })
  }
  return { after: pauseOf(maker, nowMs - (live.submittedAt ?? nowMs)) }
}

/**
 * A tenth of the time so far, so that nobody waits much longer than he must, give or take a tenth of that.
 */
function pauseOf ({ polling: { minMs, maxMs } }: VideoProvider, elapsedMs: number): number {
  return Math.min(maxMs, Math.max(minMs, elapsedMs * 0.1)) * (0.9 + Math.random() * 0.2)
}

async function notPolled (context: RunnerContext, live: LiveJob, error: UpstreamError): Promise<Next> {
  const { kind, details: { status, retryAfterMs } } = error
  live.failures += 1
  context.log.warn({ job: live.id, err: error }, 'a job cannot be polled')
  if (kind === 'auth' || status === 401 || status === 403) return await finish(context, live, failed(error))
  // For a moment after it was submitted, a job may be unknown to parts of the provider.
  const ageMs = context.clock() - (live.submittedAt ?? live.createdAt)
  if (kind === 'not_found' && ageMs > context.timing.newMs) return await finish(context, live, jobLost)
  return { after: backoff(context.timing, live.failures, retryAfterMs) }
}

/** The provider is not configured now; it may come back with the next configuration. */
async function unreachable (context: RunnerContext, live: LiveJob): Promise<Next> {
  live.failures += 1
  if (live.failures === 1) context.log.error({ job: live.id }, 'the provider of a job is not configured any more')
  return { after: backoff(context.timing, live.failures) }
}

async function giveUp (
  context: RunnerContext, live: LiveJob, maker: VideoProvider | undefined, handle: string
): Promise<Next> {
  if (maker?.cancel !== undefined) await ask(context, maker, handle)
  return await finish(context, live, tooLate)
}

/** Ends a job as an operator wishes, whether the provider can stop or not. */
async function cancel (
  context: RunnerContext, live: LiveJob, maker: VideoProvider, handle: string
): Promise<Next> {
  const stopped = maker.cancel !== undefined && await ask(context, maker, handle)
  return await finish(context, live, cancelled('by the operator', !stopped))
}

/** Returns whether the provider has agreed to stop. */
async function ask (context: RunnerContext, maker: VideoProvider, handle: string): Promise<boolean> {
  try {
    await maker.cancel?.(handle, signalOf(context))
    return true
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return false
  }
}

/** Whether no client on any node has waited for a job for some time. */
async function isAbandoned ({ rows, settings, clock }: RunnerContext, live: LiveJob): Promise<boolean> {
  const { abandonAfterMs } = settings()
  if (clock() - live.createdAt < abandonAfterMs) return false
  const job = await rows.get(live.id)
  if (job === undefined || job.waiter !== null || job.waiterLeftAt === null) return false
  return clock() - job.waiterLeftAt >= abandonAfterMs
}

function signalOf ({ closing, timing }: RunnerContext): AbortSignal {
  return AbortSignal.any([closing, AbortSignal.timeout(timing.callMs)])
}
