import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger } from '../billing/ledger/ledger.ts'
import { createClientPresence, type WaitingClient } from '../requests/joins/client-presence.ts'
import { joinLeft } from '../requests/joins/join-left.ts'
import type { RequestIdentity } from '../requests/joins/joinable.ts'
import { nameReused, tooManyAtOnce } from '../requests/joins/names.ts'
import { createIds } from '../shared/ids.ts'
import { periodically } from '../shared/timers.ts'
import type { Store } from '../store/store.ts'
import { BegunGeneration, generationLost, isGenerationLost, keepMs } from './begun-generation.ts'
import type { Generation, Made } from './generation.ts'
import { createGenerationRows } from './generation-rows.ts'
import { createStoreWrites } from './store-writes.ts'

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

interface GenerationRequest {
  /** Id of the API key. */
  apiKey: string
  identity: RequestIdentity
  /** Aborted when the client disconnects. */
  signal: AbortSignal
}

/** A client that waits for images. */
export interface ImagesClient extends WaitingClient {
  readonly id: string
  /** The generation that it waits for; null until it is found. */
  generation: string | null
}

/** The generation of a request. `begun`: the request makes it; null: it waits for one that others make. */
export interface FoundGeneration { id: string, begun: BegunGeneration | null }

const pruneEveryMs = 3_600_000
const watchMs = 500
const maxRounds = 5

/**
 * Creates the record of the images that are being made and were made: which requests share a generation, on
 * all nodes. A generation is made where its request arrived, and is lost with that node. The functions are
 * short, and share the map of what runs here.
 */
export function createGenerations (options: GenerationsOptions) {
  const { store, node, takeoverMs, isDraining, onError, reportSuspended } = options
  const clientPresence = createClientPresence({ store, node, kind: 'generation', takeoverMs })
  const rows = createGenerationRows(store, node, clientPresence)
  const writes = createStoreWrites(onError)
  const newId = createIds('gen_')
  const running = new Map<string, BegunGeneration>()
  const pruning = periodically(() => pruneEveryMs, () => rows.prune(store.clock() - 2 * keepMs), onError)

  async function join (
    { apiKey, identity, signal }: GenerationRequest, clientId: string
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

  /** Null when the key has just got a generation with that Idempotency-Key. */
  async function begin (
    { apiKey, identity: { key: dedupe, bodyHash } }: GenerationRequest, clientId: string
  ): Promise<BegunGeneration | null> {
    const begun = new BegunGeneration(newId(), { rows, writes, clock: store.clock, isDraining })
    const { id } = begun
    // Before the row: a client that finds the row must not take it for one that this node has lost.
    running.set(id, begun)
    const forget = (): void => { running.delete(id) }
    begun.outcome.then(forget, forget)
    let isInserted = false
    try {
      isInserted = await rows.insert({ id, apiKey, dedupe, bodyHash, createdAt: store.clock() }, clientId)
    } finally {
      if (!isInserted) begun.lose()
    }
    return isInserted ? begun : null
  }

  /** Ends a generation whose node is gone: it is kept if its charge is in the ledger, else it is lost. */
  async function endLost (id: string): Promise<void> {
    const nowMs = store.clock()
    reportSuspended(await rows.endLost(id, generationLost(), { nowMs, expiresAt: nowMs + keepMs }))
  }

  function isLost ({ id, owner, silentMs }: Generation): boolean {
    return owner === node ? !running.has(id) : silentMs === null || silentMs > takeoverMs
  }

  return {
    clientPresence,
    /** Records a client, which counts as one that waits until it leaves or has received its images. */
    enter (): ImagesClient {
      const id = clientPresence.acquire()
      const client: ImagesClient = {
        id,
        generation: null,
        async leave () {
          clientPresence.release(id)
          await writes.write(() => rows.leave(id))
        },
        async receive () {
          const { generation } = client
          if (generation !== null) await writes.write(() => rows.deliver(generation, id))
          clientPresence.release(id)
        }
      }
      return client
    },
    /**
     * Finds the generation that a request joins, or begins one. Throws GatewayError 422 or 503,
     * StoreUnavailable.
     */
    async find (request: GenerationRequest, client: ImagesClient): Promise<FoundGeneration> {
      for (let round = 1; round <= maxRounds; round++) {
        const joined = await join(request, client.id)
        const begun = joined === null ? await begin(request, client.id) : null
        const id = joined?.id ?? begun?.id
        if (id === undefined) continue
        client.generation = id
        return { id, begun }
      }
      throw tooManyAtOnce()
    },
    /** Waits for a generation of any node. Null if it was lost with its node; throws its failure. */
    async wait (id: string, signal: AbortSignal): Promise<Made | null> {
      try {
        for (;;) {
          const here = running.get(id)
          if (here !== undefined) return await here.outcome
          const found = await rows.get(id)
          if (found === undefined) return null
          if (found.state === 'succeeded') return found.made
          if (found.failure !== null) throw found.failure
          if (isLost(found)) await endLost(id)
          else await sleep(watchMs, undefined, { signal })
        }
      } catch (error) {
        if (isGenerationLost(error)) return null
        throw error
      }
    },
    /** Resolves when everything that ran has ended and is recorded. */
    async close (): Promise<void> {
      writes.close()
      await pruning.stop()
      await Promise.allSettled([...running.values()].map(({ outcome }) => outcome))
      await writes.idle()
    }
  }
}
