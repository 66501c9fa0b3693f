import { UpstreamError } from '../../shared/errors.ts'
import type { VideoProvider, VideoState } from '../../providers/provider-video.ts'
import { awaitProvider, backoff, callSignal, jittered, type Next, type RunnerContext } from './runner-context.ts'
import { isReceived, storeResult } from './store-result.ts'
import { cancelledEnd, failedEnd, endJob, jobFailedEnd, jobLost, noProvider, resultLost, tooLate } from './end-job.ts'
import { isLate } from './find-due-end.ts'
import type { LiveJob } from '../job.ts'
import { retryWrite } from './retry-write.ts'

/** Polls a job once and acts on its state. */
export async function pollJob (
  context: RunnerContext, live: LiveJob, provider: VideoProvider | undefined
): Promise<Next> {
  const { handle } = live
  if (handle === null) return await endJob(context, live, noProvider)
  if (provider === undefined) return awaitProvider(context, live)
  if (isReceived(live.copy)) return await storeResult(context, live, live.copy.made)
  const isLastPoll = isLate(context, live)
  let state: VideoState
  try {
    state = await provider.poll(handle, callSignal(context))
  } catch (error) {
    return await onPollError(context, live, error, isLastPoll)
  }
  live.refusedSince = null
  live.failures = live.state === 'storing' ? live.failures : 0
  switch (state.state) {
    case 'succeeded': return await storeResult(context, live, state)
    case 'failed': return await endJob(context, live, jobFailedEnd(state.error))
    case 'cancelled': return await endJob(context, live, cancelledEnd('by the provider', false))
    default:
      if (isLastPoll) return await endJob(context, live, tooLate)
      return await keepPolling(context, live, state, provider)
  }
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
  return jittered(Math.min(maxMs, Math.max(minMs, elapsedMs * 0.1)))
}

/**
 * A refusal may be about one request, one server of the provider, or a key that is being replaced, while the
 * job goes on and costs: only lasting refusals end it, with an entry in suspense.
 */
async function onPollError (
  context: RunnerContext, live: LiveJob, error: unknown, isLastPoll: boolean
): Promise<Next> {
  const { timing, log, store } = context
  // The video was made, but where it is cannot be learned in time.
  if (isLastPoll) {
    log.error({ job: live.id, err: error }, 'a job cannot be polled')
    return await endJob(context, live, resultLost)
  }
  if (!(error instanceof UpstreamError)) throw error
  const { kind, details: { status, retryAfterMs } } = error
  live.failures += 1
  const isDenied = kind === 'auth' || status === 401 || status === 403
  const isUnknown = kind === 'not_found'
  log[isDenied ? 'error' : 'warn']({ job: live.id, err: error }, 'a job cannot be polled')
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
