import { createHash } from 'node:crypto'

/** Recognises a request that is sent again. */
export interface RequestIdentity {
  /** The header `Idempotency-Key`; null if absent. */
  key: string | null
  /** Number of earlier attempts, by the SDK's header. */
  retryCount: number
  bodyHash: string
}

/**
 * How long after its start undelivered work can be joined by a request marked as a retry (`retry`) and by any
 * other (`silent`). Successful work can be joined until it expires.
 */
export const joinMs = { retry: 30 * 60_000, silent: 10 * 60_000 }

/** A hash of all inputs that change the result. */
export function bodyHashOf (model: string, request: object): string {
  const hash = createHash('sha256').update(model)
  for (const [name, value] of Object.entries(request).sort(([one], [other]) => one < other ? -1 : 1)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
    hash.update(`\n${name} ${typeof value} ${text.length}\n`).update(text)
  }
  return hash.digest('base64url')
}

/** Work that requests may share, as recorded. */
export interface JoinableWork {
  id: string
  state: string
  createdAt: number
  expiresAt: number | null
  delivered: boolean
  bodyHash: string
}

/**
 * The work that a request without an Idempotency-Key may join, in the order to try; `work` is sorted by age.
 * Work with a waiter cannot be joined: the same request is then for another result, even if an SDK marked it
 * as a retry, because its first attempt may have been rejected before any work began.
 */
export function joinable<One extends JoinableWork> (
  works: readonly One[], { retryCount, bodyHash }: RequestIdentity, nowMs: number,
  isAwaited: (work: One) => boolean
): One[] {
  const withinMs = retryCount > 0 ? joinMs.retry : joinMs.silent
  const left = works.filter(work => work.bodyHash === bodyHash && !work.delivered && !isAwaited(work))
  const isRecent = ({ createdAt }: One): boolean => nowMs - createdAt < withinMs
  return [...left.filter(isRecent), ...left.filter(work => !isRecent(work) && isKept(work, nowMs))]
}

function isKept ({ state, expiresAt }: JoinableWork, nowMs: number): boolean {
  return state === 'succeeded' && expiresAt !== null && nowMs < expiresAt
}
