import { setTimeout as sleep } from 'node:timers/promises'
import { toGatewayError } from '../http/to-gateway-error.ts'
import { joinLeft } from '../requests/joins/join-left.ts'
import type { RequestIdentity } from '../requests/joins/joinable.ts'
import { nameReused, tooManyAtOnce } from '../requests/joins/names.ts'
import { createClientPresence } from '../requests/joins/client-presence.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import { GatewayError } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import { periodically, retry } from '../shared/timers.ts'
import { StoreUnavailable, type Store } from '../store/store.ts'
import { createGenerationRows, mediaOf, type Generation, type Made } from './generation-rows.ts'

export type Generations = ReturnType<typeof createGenerations>

interface GenerationsOptions {
  store: Store
  node: string
  /** A node whose heartbeat is older is dead. */
  takeoverMs: number
  /** Whether this node is about to end. */
  isDraining: () => boolean
  onError (error: unknown): void
  /** Receives what was made and could not be charged. */
  reportSuspended: Ledger['reportSuspended']
}

interface ImageOrder {
  /** Id of the API key. */
  apiKey: string
  identity: RequestIdentity
  /** Aborted when the client disconnects. */
  signal: AbortSignal
}

/** The steps that a generation reports while it runs. */
export interface GenerationSteps {
  /** Records what was made, before it is charged. Throws GatewayError 503 if another node has given it up. */
  record (made: Made): Promise<void>
  /** Ends the generation once `booked` resolves, when the charge is on disk. Throws like `record`. */
  charge (booked: Promise<void>): Promise<void>
}

const keepMs = 24 * 3_600_000
const pruneEveryMs = 3_600_000
const watchMs = 500
const maxRounds = 5
const longestPauseMs = 2_000
/** How long the error of a client waits until it is recorded, while the database is away. */
const maxFailMs = 500

/**
 * Creates the record of what is being made and was made: which requests share a generation, on all nodes. A
 * generation runs where its request arrived, and is lost with that node.
 */
export function createGenerations (
  { store, node, takeoverMs, isDraining, onError, reportSuspended }: GenerationsOptions
) {
  const clientPresence = createClientPresence({ store, node, kind: 'generation', takeoverMs })
  const rows = createGenerationRows(store, node, clientPresence)
  const newId = createIds('gen_')
  const running = new Map<string, Promise<Made>>()
  const starting = new Set<string>()
  const writing = new Set<Promise<unknown>>()
  let closed = false
  const closing = Promise.withResolvers<void>()
  const pruning = periodically(() => pruneEveryMs, () => rows.prune(store.clock() - 2 * keepMs), onError)

  /** Repeats a write while the database is away, until the node stops. Throws what it failed with. */
  function insist<Result> (work: () => Promise<Result>): Promise<Result> {
    const done: Promise<Result> = retry(work, (error, attempts) => {
      if (closed || !(error instanceof StoreUnavailable)) throw error
      return Math.min(longestPauseMs, 50 * 2 ** attempts)
    }).finally(() => writing.delete(done))
    writing.add(done)
    return done
  }

  const write = (work: () => Promise<unknown>): Promise<unknown> => insist(work).catch(onError)

  /** Ends a generation whose node is gone: it is kept if its charge is in the ledger, else it is lost. */
  async function endLost (id: string): Promise<void> {
    const nowMs = store.clock()
    reportSuspended(await rows.endLost(id, lostWithNode(), { nowMs, expiresAt: nowMs + keepMs }))
  }

  const isDead = ({ silentMs }: Generation): boolean => silentMs === null || silentMs > takeoverMs

  async function join (
    { apiKey, identity, signal }: ImageOrder, clientId: string
  ): Promise<Generation | null> {
    const { key, bodyHash } = identity
    if (key === null) {
      return await joinLeft({ rows, clientPresence, clock: store.clock, apiKey, identity, clientId, signal })
    }
    const found = await rows.named(apiKey, key)
    if (found === undefined) return null
    const nowMs = store.clock()
    if (found.expiresAt !== null && found.expiresAt <= nowMs) {
      await rows.forgetName(found.id, nowMs)
      return null
    }
    if (found.bodyHash !== bodyHash) throw nameReused()
    return await rows.claim(found.id, clientId, null) ? found : null
  }

  return {
    clientPresence,
    /**
     * The generation of a request; `isNew`: the caller runs it by `run`. Throws GatewayError 422 or 503,
     * StoreUnavailable.
     */
    async find (order: ImageOrder, clientId: string): Promise<{ id: string, isNew: boolean }> {
      const { apiKey, identity: { key: dedupe, bodyHash } } = order
      for (let round = 1; round <= maxRounds; round++) {
        const joined = await join(order, clientId)
        if (joined !== null) return { id: joined.id, isNew: false }
        const id = newId()
        starting.add(id)
        let isNew = false
        try {
          isNew = await rows.insert({ id, apiKey, dedupe, bodyHash, createdAt: store.clock() }, clientId)
        } finally {
          if (!isNew) starting.delete(id)
        }
        if (isNew) return { id, isNew }
      }
      throw tooManyAtOnce()
    },
    /**
     * Runs a new generation. It succeeds once the charge of what `work` has recorded is on disk: a node that
     * dies in between gives nothing away. If `work` throws after that, other requests still get the images.
     */
    async run (id: string, work: (steps: GenerationSteps) => Promise<Made>): Promise<Made> {
      let recorded: Made | null = null
      /** Resolves with whether it succeeded, once it is charged or the node closes. */
      let charging: Promise<boolean> | null = null
      const steps: GenerationSteps = {
        async record (made) {
          recorded = made
          if (!await insist(() => rows.record(id, made))) throw lostWithNode()
        },
        async charge (booked) {
          charging = Promise.race([booked, closing.promise]).then(async () => {
            // What is not written here, the next request reads from the ledger.
            if (closed) return true
            return await write(() => rows.succeed(id, store.clock() + keepMs)) !== false
          })
          await booked
          if (!await charging) throw lostWithNode()
        }
      }
      const made = work(steps).catch(async (error: unknown) => {
        const gatewayError = toGatewayError(error)
        // The node is closing: clients that wait at other nodes start it again there.
        const failure = isDraining() && gatewayError.status === 503 ? lostWithNode() : gatewayError
        const fail = () => rows.fail(id, failure, store.clock(), mediaOf(recorded))
        if (charging === null) await Promise.race([write(fail), sleep(maxFailMs, undefined, { ref: false })])
        throw error
      })
      const outcome = made.catch(async (error: unknown) => {
        if (recorded === null || charging === null || !await charging) throw error
        return recorded
      }).finally(async () => {
        await charging
        running.delete(id)
      })
      // Others may wait for it, or nothing.
      outcome.catch(() => {})
      running.set(id, outcome)
      starting.delete(id)
      return await made
    },
    /** Waits for a generation of any node. Null if it was lost with its node; throws what it failed with. */
    async wait (id: string, signal: AbortSignal): Promise<Made | null> {
      const here = running.get(id)
      if (here !== undefined) return await here.catch(nullIfLost)
      for (;;) {
        const found = await rows.get(id)
        if (found === undefined) return null
        if (found.state === 'succeeded') return found.made
        if (found.failure !== null) return nullIfLost(found.failure)
        const isStarting = running.has(id) || starting.has(id)
        if (found.owner === node ? !isStarting : isDead(found)) await endLost(id)
        else await sleep(watchMs, undefined, { signal })
      }
    },
    /** Records that a client no longer waits. */
    async leave (clientId: string): Promise<void> {
      clientPresence.release(clientId)
      await write(() => rows.leave(clientId))
    },
    /** Records that a client has its images; until then it counts as one that waits. */
    deliver (id: string, clientId: string): void {
      write(() => rows.deliver(id, clientId)).finally(() => clientPresence.release(clientId))
    },
    /**
     * Resolves when everything that ran has ended and is recorded. A write that fails now is not retried:
     * without its database a node would never stop.
     */
    async close (): Promise<void> {
      closed = true
      closing.resolve()
      await pruning.stop()
      await Promise.allSettled(running.values())
      await Promise.allSettled(writing)
    }
  }
}

const lostCode = 'generation_lost'

function lostWithNode (): GatewayError {
  return GatewayError.unavailable('The node that generated the images failed.', { code: lostCode })
}

/** Null for the failure of `lostWithNode`; throws any other. */
function nullIfLost (error: unknown): null {
  if (error instanceof GatewayError && error.code === lostCode) return null
  throw error
}
