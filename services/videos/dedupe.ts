import { createHash } from 'node:crypto'
import type { Job } from './job.ts'
import type { JobTask } from '../providers/provider-video.ts'

export interface RequestIdentity {
  /** The header `Idempotency-Key`; null if absent. */
  key: string | null
  /** How often the client has sent it before, by its SDK's header. */
  retryCount: number
  bodyHash: string
}

/**
 * How long after its start a job is joined by a request that is marked as a retry (`retry`) and by one that
 * is not (`silent`), and how long after its end if it was delivered. An undelivered video is joined until it
 * expires.
 */
export const joinMs = { retry: 30 * 60_000, silent: 10 * 60_000, delivered: 60_000 }

/** A hash of everything that changes the video. */
export function bodyHashOf (model: string, task: JobTask): string {
  const hash = createHash('sha256').update(model)
  for (const [name, value] of Object.entries(task).sort(([one], [other]) => one < other ? -1 : 1)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    hash.update(`\n${name} ${typeof value} ${text.length}\n`).update(text)
  }
  return hash.digest('base64url')
}

type Known = Pick<Job, 'id' | 'state' | 'createdAt' | 'finishedAt' | 'expiresAt' | 'delivered' | 'bodyHash'>

/**
 * The jobs (oldest first) that a request without an Idempotency-Key may join, in the order to try: jobs
 * without a waiter, because a client that disconnected comes back for its own job; for a retry also jobs with
 * a waiter, whose first connection may be dead without the gateway knowing, and videos delivered just now,
 * because the last bytes are often written to a dead connection; last, undelivered videos.
 */
export function joinableJobs<One extends Known> (
  jobs: readonly One[], { retryCount, bodyHash }: RequestIdentity, nowMs: number,
  isAwaited: (job: One) => boolean
): One[] {
  const withinMs = retryCount > 0 ? joinMs.retry : joinMs.silent
  const same = jobs.filter(job => job.bodyHash === bodyHash)
  const open = same.filter(job => !job.delivered && nowMs - job.createdAt < withinMs)
  const left = open.filter(job => !isAwaited(job))
  const kept = same.filter(job => isKept(job, nowMs) && !open.includes(job) && !isAwaited(job))
  if (retryCount === 0) return [...left, ...kept]
  const sent = same.filter(({ delivered, finishedAt }) =>
    delivered && finishedAt !== null && nowMs - finishedAt < joinMs.delivered)
  return [...left, ...open.filter(job => isAwaited(job)).reverse(), ...sent.reverse(), ...kept]
}

function isKept ({ state, delivered, expiresAt }: Known, nowMs: number): boolean {
  return state === 'succeeded' && !delivered && expiresAt !== null && nowMs < expiresAt
}
