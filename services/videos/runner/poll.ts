import { UpstreamError } from '../../shared/errors.ts'
import type { VideoProvider, VideoState } from '../../providers/provider-video.ts'
import { backoff, type Next, type RunnerContext } from './runner-context.ts'
import { isReceived, storeResult } from './store-result.ts'
import { cancelledEnd, failedEnd, endJob, jobFailedEnd, jobLost, noProvider, resultLost, tooLate } from './end-job.ts'
import type { LiveJob } from '../job.ts'
import { retryWrite } from './retry-write.ts'

/** Polls a job once and acts on its state. */
export async function pollJob (context: RunnerContext, live: LiveJob): Promise<Next> {
  const { handle } = live
  const provider = providerOf(context, live)
  if (handle === null) return await endJob(context, live, noProvider)
  const isLate = context.store.clock() >= live.deadlineAt
  if (isLate && live.state !== 'storing') return await giveUp(context, live, provider, handle)
  if (provider === undefined) {
    return isLate ? await endJob(context, live, resultLost) : await unreachable(context, live)
  }
  if (live.cancel) return await cancel(context, live, provider, handle)
  if (live.state === 'queued' && provider.cancel !== undefined && await giveUpAbandoned(context, live)) {
    if (await cancelUpstream(context, provider, handle)) {
      return await endJob(context, live, cancelledEnd(live.isDeleted ? 'its client deleted it' : 'no client waited for it any more', false))
    }
    await context.rows.keep(live.id)
  }
  if (isReceived(live.copy)) return await storeResult(context, live, live.copy.made)
  let state: VideoState
  try {
    state = await provider.poll(handle, signalOf(context))
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return await onPollError(context, live, error, isLate)
  }
  live.refusedSince = null
  live.failures = live.state === 'storing' ? live.failures : 0
  switch (state.state) {
    case 'succeeded': return await storeResult(context, live, state)
    case 'failed': return await endJob(context, live, jobFailedEnd(state.error))
    case 'cancelled': return await endJob(context, live, cancelledEnd('by the provider', false))
    default:
      if (isLate) return await giveUp(context, live, provider, handle)
      return await keepPolling(context, live, state, provider)
  }
}

function providerOf (context: RunnerContext, { candidates, candidate }: LiveJob): VideoProvider | undefined {
  const chosen = candidates[candidate]
  return chosen && context.provider(chosen.provider)
}

async function keepPolling (
  context: RunnerContext, live: LiveJob, { state, progress }: Extract<VideoState, { progress: unknown }>,
  provider: VideoProvider
): Promise<Next> {
  const nowMs = context.store.clock()
  const isNews = progress !== live.progress && nowMs - live.writtenAt >= context.timing.progressMs
  // Some providers briefly report a running job as queued again.
  const later = live.state === 'running' ? 'running' : state
  if (later !== live.state || isNews) {
    const change = { state: later, progress, polledAt: nowMs }
    if (!await retryWrite(context, live.id, () => context.rows.change(live, change))) return 'lost'
    Object.assign(live, { state: later, progress, writtenAt: nowMs })
  }
  return { after: pauseOf(provider, nowMs - (live.submittedAt ?? nowMs)) }
}

/** Poll every 10 % of the elapsed time, with ±10 % jitter. */
function pauseOf ({ polling: { minMs, maxMs } }: VideoProvider, elapsedMs: number): number {
  return Math.min(maxMs, Math.max(minMs, elapsedMs * 0.1)) * (0.9 + Math.random() * 0.2)
}

/**
 * A refusal may be about one request, one server of the provider, or a key that is being replaced, while the
 * job goes on and costs: only lasting refusals end it, with an entry in suspense.
 */
async function onPollError (
  context: RunnerContext, live: LiveJob, error: UpstreamError, isLate: boolean
): Promise<Next> {
  const { timing, log, store } = context
  const { kind, details: { status, retryAfterMs } } = error
  live.failures += 1
  const isDenied = kind === 'auth' || status === 401 || status === 403
  const isUnknown = kind === 'not_found'
  log[isDenied ? 'error' : 'warn']({ job: live.id, err: error }, 'a job cannot be polled')
  // The video was made, but where it is cannot be learned in time.
  if (isLate) return await endJob(context, live, resultLost)
  live.refusedSince = isDenied || isUnknown ? live.refusedSince ?? store.clock() : null
  if (live.refusedSince === null) {
    return { after: backoff(timing, live.failures, retryAfterMs), isTooMany: kind === 'rate' }
  }
  const refusedMs = store.clock() - live.refusedSince
  if (isDenied && refusedMs >= timing.refusedMs) return await endJob(context, live, failedEnd(error, true))
  // Right after the submit, parts of the provider may not know the job yet.
  if (isUnknown && refusedMs >= timing.newMs) return await endJob(context, live, jobLost)
  return { after: backoff(timing, live.failures, retryAfterMs) }
}

/** The provider is not configured; the next configuration may bring it back. */
async function unreachable (context: RunnerContext, live: LiveJob): Promise<Next> {
  live.failures += 1
  if (live.failures === 1) context.log.error({ job: live.id }, 'the provider of a job is not configured any more')
  return { after: backoff(context.timing, live.failures) }
}

async function giveUp (
  context: RunnerContext, live: LiveJob, provider: VideoProvider | undefined, handle: string
): Promise<Next> {
  if (provider?.cancel !== undefined) await cancelUpstream(context, provider, handle)
  return await endJob(context, live, tooLate)
}

/** Ends a job for an operator, whether or not the provider can stop it. */
async function cancel (
  context: RunnerContext, live: LiveJob, provider: VideoProvider, handle: string
): Promise<Next> {
  const stopped = provider.cancel !== undefined && await cancelUpstream(context, provider, handle)
  // A video that is being copied was made, whatever the provider says to the cancellation.
  return await endJob(context, live, cancelledEnd('by the operator', !stopped || live.state === 'storing'))
}

/** Returns whether the provider cancelled the job. */
async function cancelUpstream (
  context: RunnerContext, provider: VideoProvider, handle: string
): Promise<boolean> {
  try {
    await provider.cancel?.(handle, signalOf(context))
    return true
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return false
  }
}

/** Gives up a job that was deleted, or that no client has waited for since `abandonAfterMs`; else false. */
async function giveUpAbandoned ({ rows, settings, store }: RunnerContext, live: LiveJob): Promise<boolean> {
  const leftMs = store.clock() - settings().abandonAfterMs
  return (live.isDeleted || live.createdAt <= leftMs) && await rows.giveUp(live, leftMs)
}

function signalOf ({ closing, timing }: RunnerContext): AbortSignal {
  return AbortSignal.any([closing, AbortSignal.timeout(timing.callMs)])
}
