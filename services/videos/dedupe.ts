import { createHash } from 'node:crypto'
import type { Job } from './job.ts'
import type { JobTask } from '../providers/provider-video.ts'

/** What of a request tells whether it is the same one again. */
export interface Attempt {
  /** The header `Idempotency-Key`; null when there is none. */
  key: string | null
  /** How often the client has sent it before, as official SDKs say. */
  retryCount: number
  bodyHash: string
}

/**
 * How long after its start a job is joined by a request that says it is a retry, and by one that does not;
 * and how long after its end one that was delivered. A video that nobody has had waits for as long as it is
 * kept.
 */
export const joinMs = { retry: 30 * 60_000, silent: 10 * 60_000, delivered: 60_000 }

/** A hash of all that makes up a job: the same for requests that differ only in what changes no video. */
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
 * Which of the jobs alike, oldest first, a request without a key may join, in the order to try. A client that
 * vanished comes back for its own job, so one that nobody waits for goes first; one that somebody waits for
 * is joined only by a request that says it is a retry: its first connection may not be known to be gone. Then
 * comes a video that was sent just now: the last bytes of an answer are often written to a client that has
 * gone. Last comes one that was paid for long ago and never had.
 */
export function joinable<One extends Known> (
  jobs: readonly One[], { retryCount, bodyHash }: Attempt, nowMs: number, isAwaited: (job: One) => boolean
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
