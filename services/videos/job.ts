import type { GatewayError } from '../shared/errors.ts'
import type { JobHold } from '../ledger/hold/job-holds.ts'
import type { JobTask } from '../providers/provider-video.ts'

export const liveStates = ['submitting', 'queued', 'running', 'storing'] as const
export const finalStates = ['succeeded', 'failed', 'cancelled', 'expired'] as const
/** `submitting`: the provider may or may not know of the job yet; `storing`: its video is being copied. */
export type LiveState = typeof liveStates[number]
export type FinalState = typeof finalStates[number]
export type JobState = LiveState | FinalState

/** Where a job can be done. */
export interface Candidate { provider: string, model: string }

/** One video that was made. */
export interface JobVideo {
  /** Id of the stored media; null when it could not be copied and `url` is the provider's own. */
  media: string | null
  url: string | null
  mime: string
  seconds: number | null
  width: number | null
  height: number | null
  /** ms since 1970; null when the provider does not say how long its address is good. */
  expiresAt: number | null
}

/** A failure, as the client is told of it. */
export type JobFailure = Pick<GatewayError, 'status' | 'type' | 'code' | 'param' | 'message'>

/** A job as it stands in the database. Times are ms since 1970, amounts nano-USD. */
export interface Job {
  id: string
  account: string
  apiKey: string
  chain: readonly string[]
  model: string
  candidates: readonly Candidate[]
  /** Index of the candidate at work. */
  candidate: number
  dedupe: string | null
  bodyHash: string
  task: JobTask
  /** Where the client reaches the API. */
  baseUrl: string
  state: JobState
  owner: string | null
  fence: number
  handle: string | null
  progress: number | null
  /** How often it was submitted or is about to be. */
  attempts: number
  deadlineAt: number
  /** Null when the job is free. */
  hold: JobHold | null
  secondNano: number
  /** The most seconds of video that are paid for. */
  seconds: number
  costNano: number | null
  waiter: string | null
  waiterLeftAt: number | null
  delivered: boolean
  cancel: boolean
  videos: readonly JobVideo[]
  failure: JobFailure | null
  createdAt: number
  submittedAt: number | null
  finishedAt: number | null
  expiresAt: number | null
}

/** What of a job its owner keeps in memory; everything else is read when it is needed. */
export interface LiveJob {
  readonly id: string
  readonly fence: number
  state: LiveState
  readonly candidates: readonly Candidate[]
  candidate: number
  handle: string | null
  progress: number | null
  attempts: number
  readonly createdAt: number
  submittedAt: number | null
  readonly deadlineAt: number
  cancel: boolean
  /** Whether it was taken over in the middle of being submitted. */
  inDoubt: boolean
  /** Failures of the present step, one after the other. */
  failures: number
  /** When progress was last written, and what; it is written rarely. */
  writtenAt: number
}

/**
 * What of a job in the database is kept in memory by the node that owns it now. `isNew`: nobody can have
 * begun to submit it.
 */
export function toLive (job: Job, state: LiveState, isNew: boolean): LiveJob {
  const { id, fence, candidates, candidate, handle, progress, attempts, cancel } = job
  const { createdAt, submittedAt, deadlineAt } = job
  const inDoubt = !isNew && state === 'submitting' && attempts > 0
  return {
    id,
    fence,
    state,
    candidates,
    candidate,
    handle,
    progress,
    attempts,
    createdAt,
    submittedAt,
    deadlineAt,
    cancel,
    inDoubt,
    failures: 0,
    writtenAt: createdAt
  }
}

export function isLive (state: JobState): state is LiveState {
  return liveStates.some(live => live === state)
}
