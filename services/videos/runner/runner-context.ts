import type { VideoSettings } from '../../config/catalogue/types.ts'
import type { JobHolds } from '../../billing/ledger/hold/job-holds.ts'
import type { Ledger } from '../../billing/ledger/ledger.ts'
import type { Download, MediaStore } from '../../media/media.ts'
import type { VideoProvider } from '../../providers/provider-video.ts'
import type { Log } from '../../shared/log.ts'
import type { CostWatch } from '../../requests/cost-watch.ts'
import type { Store } from '../../store/store.ts'
import type { FaultyParty, Job, LiveJob } from '../job.ts'
import type { JobRows } from '../rows.ts'

/** Times of the runner that no operator needs to change, in ms. */
export interface Timing {
  /** At least between a submit with an unknown outcome and the next call. */
  doubtMs: number
  /** How long after its submit a job may be unknown to its provider. */
  newMs: number
  /** The first backoff, which doubles up to `maxBackoffMs`. */
  backoffMs: number
  maxBackoffMs: number
  progressMs: number
  callMs: number
  /** The longest attempt to copy a result; and how long one that comes late is tried at least. */
  copyMs: number
  storeMs: number
  /** How long a provider may refuse the polls of a running job, e.g. for want of a valid key. */
  refusedMs: number
  /** How long repeated requests get a finished job, and how long operators see it. */
  keepMs: number
  historyMs: number
  /** Between two polls of the database for jobs of other nodes. */
  watchMs: number
  /** Between two looks for webhooks that are due. */
  webhookMs: number
}

export const defaultTiming: Timing = {
  doubtMs: 2_000,
  newMs: 60_000,
  backoffMs: 1_000,
  maxBackoffMs: 60_000,
  progressMs: 30_000,
  callMs: 150_000,
  copyMs: 600_000,
  storeMs: 600_000,
  refusedMs: 600_000,
  keepMs: 24 * 3_600_000,
  historyMs: 30 * 24 * 3_600_000,
  watchMs: 1_000,
  webhookMs: 1_000
}

export interface RunnerContext {
  store: Store
  rows: JobRows
  holds: JobHolds
  reportSuspended: Ledger['reportSuspended']
  media: MediaStore
  download: Download
  /** Undefined if no provider with that id makes videos. */
  provider (provider: string): VideoProvider | undefined
  settings (): VideoSettings
  onReportedCost?: CostWatch | undefined
  /** Receives each attempt to copy a result that failed. */
  onCopyFailure?: ((fault: FaultyParty) => void) | undefined
  timing: Timing
  log: Log
  /** Aborted when the node gives up its jobs. */
  closing: AbortSignal
}

/**
 * What follows a step: another one `after` ms, the end, or nothing because another node owns the job.
 * `isTooMany`: the provider has refused the poll because there are too many.
 */
export type Next = { after: number, isTooMany?: boolean } | { ended: Job } | 'lost'

/**
 * The wait after consecutive failures: bounded exponential backoff with ±10 % jitter, or the provider's
 * retry-after, bounded as well, if that is longer.
 */
export function backoff ({ backoffMs, maxBackoffMs }: Timing, failures: number, retryAfterMs = 0): number {
  const pauseMs = Math.min(maxBackoffMs, backoffMs * 2 ** Math.max(0, failures - 1))
  return Math.max(jittered(pauseMs), Math.min(retryAfterMs, maxBackoffMs))
}

/** ±10 %, so that jobs of the same moment do not keep calling at the same moment. */
export function jittered (ms: number): number {
  return ms * (0.9 + Math.random() * 0.2)
}

/** The provider that has, or will get, a job; undefined if it is no longer configured. */
export function providerOf (
  { provider }: RunnerContext, { candidates, candidate }: LiveJob
): VideoProvider | undefined {
  const chosen = candidates[candidate]
  return chosen && provider(chosen.provider)
}

/** Aborts one call about an accepted job. */
export function callSignal ({ closing, timing }: RunnerContext): AbortSignal {
  return AbortSignal.any([closing, AbortSignal.timeout(timing.callMs)])
}

/** Waits for the next configuration, which may bring the provider of a job back. */
export function awaitProvider ({ timing, log }: RunnerContext, live: LiveJob): Next {
  live.failures += 1
  if (live.failures === 1) log.error({ job: live.id }, 'the provider of a job is not configured any more')
  return { after: backoff(timing, live.failures) }
}
