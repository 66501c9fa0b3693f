import { createHash } from 'node:crypto'

/** Recognises a request that is sent again. */
export interface RequestIdentity {
  /** The header `Idempotency-Key`; null if absent. */
  key: string | null
  /** How often the client has sent it before, by its SDK's header. */
  retryCount: number
  bodyHash: string
}

/**
 * How long after its start undelivered work is joined by a request that is marked as a retry (`retry`) and by
 * one that is not (`silent`). What has succeeded is joined until it expires.
 */
export const joinMs = { retry: 30 * 60_000, silent: 10 * 60_000 }

/** A hash of everything that changes the result. */
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
 * The work (oldest first) that a request without an Idempotency-Key may join, in the order to try. Only work
 * without a waiter: while its client waits, the same request is for another result, also when an SDK has
 * counted it as a retry, because its first attempt may have been refused before it had any work.
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
