import type { VideoProvider } from '../../providers/provider-video.ts'
import { cancelledEnd, resultLost, submitUnknown, tooLate, type End } from './end-job.ts'
import { callSignal, type RunnerContext } from './runner-context.ts'
import type { LiveJob } from '../job.ts'

/** Submits and failed searches of one job, over all candidates. */
export const maxTries = 5

const byOperator = 'by the operator'
const byClient = 'its client deleted it'

/**
 * Decides before each step, in every state, whether a job ends instead: because it is cancelled, deleted,
 * past its deadline, out of tries, or no client waits for it. Null: it goes on. `provider` is undefined if it
 * is no longer configured. A result that is being stored gets one more step after its deadline: its last.
 */
export async function findDueEnd (
  context: RunnerContext, live: LiveJob, provider: VideoProvider | undefined
): Promise<End | null> {
  const late = isLate(context, live)
  if (live.state === 'submitting') return unsubmittedEnd(live, late)
  if (live.cancel) {
    const stopped = await stopUpstream(context, live, provider)
    // A video that is being copied was made, whatever the provider says to the cancellation.
    return cancelledEnd(byOperator, !stopped || live.state === 'storing')
  }
  if (late && live.state === 'storing') return provider === undefined ? resultLost : null
  if (late) {
    await stopUpstream(context, live, provider)
    return tooLate
  }
  return await abandonedEnd(context, live, provider)
}

/** Whether a job is past its deadline. */
export function isLate ({ store }: RunnerContext, { deadlineAt }: LiveJob): boolean {
  return store.clock() >= deadlineAt
}

function unsubmittedEnd ({ cancel, isDeleted, inDoubt, tries }: LiveJob, late: boolean): End | null {
  if (cancel || isDeleted) return cancelledEnd(cancel ? byOperator : byClient, inDoubt)
  if (inDoubt) return late || tries >= maxTries ? submitUnknown : null
  // Nothing was sent.
  return late ? { ...tooLate, mayBeCharged: false } : null
}

/** Gives up a job that was deleted or that no client waits for, if its provider stops it before it begins. */
async function abandonedEnd (
  context: RunnerContext, live: LiveJob, provider: VideoProvider | undefined
): Promise<End | null> {
  if (live.state !== 'queued' || cancelOf(live, provider) === null || !await giveUp(context, live)) return null
  if (await stopUpstream(context, live, provider)) {
    return cancelledEnd(live.isDeleted ? byClient : 'no client waited for it any more', false)
  }
  await context.rows.keep(live.id)
  return null
}

/** Gives up a job that was deleted, or that no client has waited for since `abandonAfterMs`; else false. */
async function giveUp ({ rows, settings, store }: RunnerContext, live: LiveJob): Promise<boolean> {
  const leftMs = store.clock() - settings().abandonAfterMs
  return (live.isDeleted || live.createdAt <= leftMs) && await rows.giveUp(live, leftMs)
}

/** Returns whether the provider cancelled the job. */
async function stopUpstream (
  context: RunnerContext, live: LiveJob, provider: VideoProvider | undefined
): Promise<boolean> {
  const cancel = cancelOf(live, provider)
  if (cancel === null) return false
  try {
    await cancel(callSignal(context))
    return true
  } catch (err) {
    context.log.warn({ job: live.id, err }, 'a job could not be stopped at its provider')
    return false
  }
}

/** Returns what cancels a job at its provider; null if the API that serves its model cannot. */
function cancelOf (
  { handle }: LiveJob, provider: VideoProvider | undefined
): ((signal: AbortSignal) => Promise<void>) | null {
  if (provider?.cancel === undefined || handle === null) return null
  const { cancel, canCancel = () => true } = provider
  return canCancel(handle) ? async signal => await cancel(handle, signal) : null
}
