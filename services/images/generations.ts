import { setTimeout as sleep } from 'node:timers/promises'
import { errorAnswer } from '../http/error-answers.ts'
import { joinLeft } from '../joins/join-left.ts'
import type { RequestIdentity } from '../joins/joinable.ts'
import { nameReused, tooManyAtOnce } from '../joins/names.ts'
import { createWaitingClients } from '../joins/waiting-clients.ts'
import { GatewayError } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import { periodically, retry } from '../shared/timers.ts'
import { StoreUnavailable, type Store } from '../store/store.ts'
import { createGenerationRows, type Generation, type Made } from './generation-rows.ts'

export type Generations = ReturnType<typeof createGenerations>

interface GenerationsOptions {
  store: Store
  node: string
  /** A node whose heartbeat is older is dead. */
  takeoverMs: number
  onError (error: unknown): void
}

interface ImageOrder {
  /** Id of the API key. */
  apiKey: string
  identity: RequestIdentity
  /** Aborted when the client disconnects. */
  signal: AbortSignal
}

const keepMs = 24 * 3_600_000
const pruneEveryMs = 3_600_000
const watchMs = 500
const maxRounds = 5
const longestPauseMs = 2_000

/**
 * Creates the record of what is being made and was made: which requests share a generation, on all nodes. A
 * generation runs where its request arrived, and is lost with that node.
 */
export function createGenerations ({ store, node, takeoverMs, onError }: GenerationsOptions) {
  const waiters = createWaitingClients({ store, node, kind: 'generation', takeoverMs })
  const rows = createGenerationRows(store, node, waiters)
  const newId = createIds('gen_')
  const running = new Map<string, Promise<Made>>()
  const starting = new Set<string>()
  const writing = new Set<Promise<void>>()
  let closed = false
  const pruning = periodically(() => pruneEveryMs, () => rows.prune(store.clock() - 2 * keepMs), onError)

  function write (work: () => Promise<void>): Promise<void> {
    const done: Promise<void> = retry(work, (error, attempts) => {
      if (closed || !(error instanceof StoreUnavailable)) throw error
      return Math.min(longestPauseMs, 50 * 2 ** attempts)
    }).catch(onError).finally(() => writing.delete(done))
    writing.add(done)
    return done
  }

  const isDead = ({ silentMs }: Generation): boolean => silentMs === null || silentMs > takeoverMs

  async function join (
    { apiKey, identity, signal }: ImageOrder, waiterId: string
  ): Promise<Generation | null> {
    const { key, bodyHash } = identity
    if (key === null) {
      return await joinLeft({ rows, waiters, clock: store.clock, apiKey, identity, waiterId, signal })
    }
    const found = await rows.named(apiKey, key)
    if (found === undefined) return null
    const nowMs = store.clock()
    if (found.expiresAt !== null && found.expiresAt <= nowMs) {
      await rows.forgetName(found.id, nowMs)
      return null
    }
    if (found.bodyHash !== bodyHash) throw nameReused()
    return await rows.claim(found.id, waiterId, null) ? found : null
  }

  return {
    waiters,
    /**
     * The generation of a request; `isNew`: the caller runs it by `run`. Throws GatewayError 422 or 503,
     * StoreUnavailable.
     */
    async find (order: ImageOrder, waiterId: string): Promise<{ id: string, isNew: boolean }> {
      const { apiKey, identity: { key: dedupe, bodyHash } } = order
      for (let round = 1; round <= maxRounds; round++) {
        const joined = await join(order, waiterId)
        if (joined !== null) return { id: joined.id, isNew: false }
        const id = newId()
        starting.add(id)
        const isNew = await rows.insert({ id, apiKey, dedupe, bodyHash, createdAt: store.clock() }, waiterId)
        if (isNew) return { id, isNew }
        starting.delete(id)
      }
      throw tooManyAtOnce()
    },
    /** Runs a new generation. `work` records what it has made by `keep`, before it charges it. */
    async run (id: string, work: (keep: (made: Made) => Promise<void>) => Promise<Made>): Promise<Made> {
      let stored: string[] = []
      const keep = async (made: Made): Promise<void> => {
        stored = made.images.map(({ media }) => media)
        await write(() => rows.succeed(id, made, store.clock() + keepMs))
      }
      const made = work(keep)
        .catch(async (error: unknown) => {
          await write(() => rows.fail(id, errorAnswer(error), store.clock(), stored))
          throw error
        })
        .finally(() => running.delete(id))
      // Others may wait for it, or nothing.
      made.catch(() => {})
      running.set(id, made)
      starting.delete(id)
      return await made
    },
    /** Waits for a generation of any node. Null if it was lost with its node; throws what it failed with. */
    async wait (id: string, signal: AbortSignal): Promise<Made | null> {
      const here = running.get(id)
      if (here !== undefined) return await here
      for (;;) {
        const found = await rows.get(id)
        if (found === undefined) return null
        if (found.made !== null) return found.made
        if (found.failure !== null) throw found.failure
        const isStarting = running.has(id) || starting.has(id)
        if (found.owner === node ? !isStarting : isDead(found)) {
          await rows.fail(id, GatewayError.unavailable('The node that generated the images failed.'), store.clock())
          return null
        }
        await sleep(watchMs, undefined, { signal })
      }
    },
    /** Records that a client no longer waits. */
    leave (waiterId: string): Promise<void> {
      waiters.release(waiterId)
      return write(() => rows.leave(waiterId))
    },
    /** Records that a client has its images; until then it counts as one that waits. */
    deliver (id: string, waiterId: string): void {
      write(() => rows.deliver(id, waiterId)).finally(() => waiters.release(waiterId))
    },
    /**
     * Resolves when everything that ran has ended and is recorded. A write that fails now is not retried:
     * without its database a node would never stop.
     */
    async close (): Promise<void> {
      closed = true
      await pruning.stop()
      await Promise.allSettled(running.values())
      await Promise.all(writing)
    }
  }
}
