import { StoreUnavailable } from '../store/store.ts'
import type { Queries } from '../store/store.ts'
import { maxKeysPerQuery, selectKeys } from './rows.ts'
import type { KeyWithParents } from './rows.ts'

/** Fetches a key, null when there is none. Rejects with StoreUnavailable. */
export type KeyLookup = (id: string) => Promise<KeyWithParents | null>

interface Wanted {
  id: string
  resolve: (key: KeyWithParents | null) => void
  reject: (reason: unknown) => void
}

const maxWaiting = 10_000

/**
 * Creates a lookup with one query under way at a time, which takes along everything asked for meanwhile: a
 * flood of made-up keys then costs the database one query per round trip, not one per request.
 */
export function createKeyLookup (queries: Queries): KeyLookup {
  const waiting: Wanted[] = []
  let running = false

  /** Never rejects: a failure goes to those who wait for the answer. */
  async function drain (): Promise<void> {
    running = true
    while (waiting.length > 0) await answer(queries, waiting.splice(0, maxKeysPerQuery))
    running = false
  }

  return async (id) => {
    if (waiting.length >= maxWaiting) throw new StoreUnavailable(new Error(`${maxWaiting} lookups are waiting`))
    const { promise, resolve, reject } = Promise.withResolvers<KeyWithParents | null>()
    waiting.push({ id, resolve, reject })
    if (!running) drain()
    return await promise
  }
}

async function answer (queries: Queries, batch: Wanted[]): Promise<void> {
  try {
    const keys = await selectKeys(queries, batch.map(({ id }) => id))
    const byId = new Map(keys.map((key) => [key.id, key]))
    for (const { id, resolve } of batch) resolve(byId.get(id) ?? null)
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}
