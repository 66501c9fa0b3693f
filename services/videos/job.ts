import type { GatewayError } from '../shared/errors.ts'
import type { JobHold } from '../billing/ledger/hold/job-holds.ts'
import type { Tags } from '../billing/ledger/ledger.ts'
import type { ReceivedMedia, StoredMedia } from '../media/media.ts'
import type { JobTask, VideoState } from '../providers/provider-video.ts'

export const liveStates = ['submitting', 'queued', 'running', 'storing'] as const
export const finalStates = ['succeeded', 'failed', 'cancelled', 'expired'] as const
/** `submitting`: the provider may or may not have the job yet; `storing`: its video is being copied. */
export type LiveState = typeof liveStates[number]
export type FinalState = typeof finalStates[number]
export type JobState = LiveState | FinalState

/** A deployment that can make the video; `costNano`: what a second costs the operator, if configured. */
export interface JobCandidate { provider: string, model: string, costNano?: number }

export interface JobVideo {
  /** Id of the stored media; null if it could not be stored and `url` is the provider's. */
  media: string | null
  url: string | null
  mime: string
  seconds: number | null
  width: number | null
  height: number | null
  /** ms since 1970; null if the provider does not say when its address expires. */
  expiresAt: number | null
}

/** Whose fault a failed copy is: the gateway's media store, or the provider's address. */
export type FaultyParty = 'media_store' | 'provider'

/** Why the video of a job is not copied yet, for operators. */
export interface CopyError {
  fault: FaultyParty
  message: string
  attempts: number
  /** ms since 1970. */
  since: number
}

/** 0: no; 1: its id is being sent to its client; 2: the client has it: only an Idempotency-Key joins. */
export type Background = 0 | 1 | 2

/** A failure as the client sees it. */
export type JobFailure = Pick<GatewayError, 'status' | 'type' | 'code' | 'param' | 'message'>

/** A job as stored in the database. Times are ms since 1970, amounts nano-USD. */
export interface Job {
  id: string
  account: string
  apiKey: string
  chain: readonly string[]
  tags: Tags | null
  model: string
  candidates: readonly JobCandidate[]
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
  /** Submits so far, including one about to be sent; 0 if the provider certainly does not have the job. */
  attempts: number
  deadlineAt: number
  /** Null if the job is free. */
  hold: JobHold | null
  secondNano: number
  /** The most seconds that are charged. */
  seconds: number
  costNano: number | null
  /** Since when no client waits; null while one does. */
  waiterLeftAt: number | null
  delivered: boolean
  /** Whether its client has its id, so that no client has to wait for it. */
  background: Background
  cancel: boolean
  videos: readonly JobVideo[]
  failure: JobFailure | null
  copyError: CopyError | null
  createdAt: number
  submittedAt: number | null
  /** When its provider last reported something new. */
  polledAt: number | null
  finishedAt: number | null
  expiresAt: number | null
  /** Since when its client sees it no more. */
  deletedAt: number | null
}

/** The part of a job that its owner keeps in memory; the rest is read when needed. */
export interface LiveJob extends Pick<Job, 'id' | 'account' | 'apiKey' | 'fence' | 'candidates' | 'candidate' | 'handle' |
  'progress' | 'createdAt' | 'submittedAt' | 'deadlineAt' | 'cancel'> {
  state: LiveState
  /** Its client has deleted it: no client waits, whatever is recorded. */
  isDeleted: boolean
  /** Whether it is unknown if the provider has received it. */
  inDoubt: boolean
  /** Whether the intent to submit it is stored, and nothing was sent since. */
  isIntended: boolean
  /** Submits and failed searches so far. */
  tries: number
  /** Consecutive failures of the current step. */
  failures: number
  /** Since when the provider refuses every poll, in ms since 1970; null: it does not. */
  refusedSince: number | null
  copy: ResultCopy | null
  writtenAt: number
}

/** The copy of a result, as far as it has come. */
export interface ResultCopy {
  made: Extract<VideoState, { state: 'succeeded' }>
  /** One per video, in the same order. */
  files: { received: ReceivedMedia | null, stored: StoredMedia | null }[]
  /** Consecutive attempts that found a dead address. */
  dead: number
}

/** Returns the live part of a stored job. `isNew`: no submit can have begun. */
export function toLive (job: Job, state: LiveState, isNew: boolean): LiveJob {
  const { id, account, apiKey, fence, candidates, candidate, handle, progress, cancel, attempts } = job
  const { createdAt, submittedAt, deadlineAt } = job
  const stored = { id, account, apiKey, fence, candidates, candidate, handle, progress, cancel }
  const times = { createdAt, submittedAt, deadlineAt }
  const inDoubt = !isNew && state === 'submitting' && attempts > 0
  const submits = { inDoubt, isIntended: isNew, tries: isNew ? 0 : attempts }
  const unused = { failures: 0, refusedSince: null, copy: null, writtenAt: createdAt }
  return { ...stored, ...times, ...unused, ...submits, state, isDeleted: job.deletedAt !== null }
}

export function isLive (state: JobState): state is LiveState {
  return liveStates.some(live => live === state)
}
