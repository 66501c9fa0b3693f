import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamError } from '../../shared/errors.ts'
import { joinable, joinMs, type JoinableWork, type RequestIdentity } from './joinable.ts'
import type { ClientPresence } from './client-presence.ts'

/** Where work is recorded. */
export interface WorkRows<Work extends JoinableWork> {
  /** Undelivered work of a key without an Idempotency-Key, created since a time or kept; oldest first. */
  alike (apiKey: string, bodyHash: string, times: { sinceMs: number, nowMs: number }): Promise<Work[]>
  /** Adds a waiting client; false if others than those `lost` wait, or if it can no longer be joined. */
  claim (id: string, clientId: string, lost: readonly string[]): Promise<boolean>
}

interface Join<Work extends JoinableWork> {
  rows: WorkRows<Work>
  clientPresence: ClientPresence
  clock: () => number
  apiKey: string
  identity: RequestIdentity
  clientId: string
  /** Aborted when the client disconnects. */
  signal: AbortSignal
}

/** Interval at which a retry checks whether the first attempt's client has left. */
const lookMs = 100

/**
 * Joins work whose clients have left; null if there is none. A retry waits until that is certain: its first
 * connection may be broken without its node having noticed yet. Throws UpstreamError `aborted`.
 */
export async function joinLeft<Work extends JoinableWork> (join: Join<Work>): Promise<Work | null> {
  const arrivedAt = join.clock()
  for (;;) {
    const { joined, isUnsure } = await tryJoin(join, arrivedAt)
    if (joined !== null || !isUnsure || join.identity.retryCount === 0) return joined
    try {
      await sleep(lookMs, undefined, { signal: join.signal })
    } catch (cause) {
      throw new UpstreamError('aborted', 'no', 'The request was aborted before it found its job.', { cause })
    }
  }
}

/** `isUnsure`: a client that waits for such work may have left. */
async function tryJoin<Work extends JoinableWork> (
  { rows, clientPresence, clock, apiKey, identity, clientId }: Join<Work>, arrivedAt: number
): Promise<{ joined: Work | null, isUnsure: boolean }> {
  const nowMs = clock()
  const alike = await rows.alike(apiKey, identity.bodyHash, { sinceMs: nowMs - joinMs.retry, nowMs })
  const waiting = alike.length === 0 ? [] : await clientPresence.of(alike.map(({ id }) => id))
  const standings = waiting.map(one => ({ ...one, standing: clientPresence.standing(one, arrivedAt, nowMs) }))
  const of = ({ id }: Work) => standings.filter(({ work }) => work === id)
  const isAwaited = (work: Work): boolean => of(work).some(({ standing }) => standing !== 'lost')
  for (const work of joinable(alike, identity, nowMs, isAwaited)) {
    const isJoined = await rows.claim(work.id, clientId, of(work).map(({ id }) => id))
    if (isJoined) return { joined: work, isUnsure: false }
  }
  return { joined: null, isUnsure: standings.some(({ standing }) => standing === 'unsure') }
}
