import type { VideoSettings } from '../../catalogue/types.ts'
import type { JobHolds } from '../../ledger/hold/job-holds.ts'
import type { Download, MediaStore } from '../../media/media.ts'
import type { VideoProvider } from '../../providers/provider-video.ts'
import type { Store } from '../../store/store.ts'
import type { Job } from '../job.ts'
import type { JobRows } from '../rows.ts'

export interface JobLog {
  info (details: object, message: string): void
  warn (details: object, message: string): void
  error (details: object, message: string): void
}

/** Times of the runner that no operator needs to change, in ms. */
export interface Timing {
  /** Between a submit of which nobody knows whether it arrived and the first look for it. */
  doubtMs: number
  /** How long a job may be unknown to its provider after it was submitted. */
  newMs: number
  /** The first pause after a failure, which doubles up to the longest. */
  backoffMs: number
  maxBackoffMs: number
  /** How often progress is written at most. */
  progressMs: number
  /** How long one call of a provider may take. */
  callMs: number
  /** How long copying one video may take. */
  copyMs: number
  /** How long a finished job answers who asks for it again, and how long operators see it. */
  keepMs: number
  historyMs: number
  /** How often jobs of other nodes are looked at for which clients wait here. */
  watchMs: number
}

export const defaultTiming: Timing = {
  doubtMs: 2_000,
  newMs: 60_000,
  backoffMs: 1_000,
  maxBackoffMs: 60_000,
  progressMs: 30_000,
  callMs: 150_000,
  copyMs: 600_000,
  keepMs: 24 * 3_600_000,
  historyMs: 30 * 24 * 3_600_000,
  watchMs: 1_000
}

/** What the steps of a job work with. */
export interface RunnerContext {
  store: Store
  rows: JobRows
  holds: JobHolds
  media: MediaStore
  download: Download
  /** Undefined when no provider of that id makes videos now. */
  maker (provider: string): VideoProvider | undefined
  settings (): VideoSettings
  timing: Timing
  clock: () => number
  log: JobLog
  /** Aborted when the node lets go of its jobs. */
  closing: AbortSignal
}

/**
 * What comes after a step: another one after some time, the end, or nothing because another node has the job.
 */
export type Next = { after: number } | { ended: Job } | 'lost'

/** The pause before trying again what has failed so many times in a row, or what the other side asks for. */
export function backoff ({ backoffMs, maxBackoffMs }: Timing, failures: number, retryAfterMs = 0): number {
  const pauseMs = Math.min(maxBackoffMs, backoffMs * 2 ** Math.max(0, failures - 1))
  return Math.max(pauseMs, Math.min(retryAfterMs, maxBackoffMs))
}
