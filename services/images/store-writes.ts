import { retryOutage } from '../store/retry-outage.ts'

export type StoreWrites = ReturnType<typeof createStoreWrites>

/**
 * Creates the writes of one node, which are repeated while the database is away, until `close`: without its
 * database a node would never stop. `onError` receives the failures of `write`.
 */
export function createStoreWrites (onError: (error: unknown) => void) {
  const pending = new Set<Promise<unknown>>()
  const closing = Promise.withResolvers<void>()
  let isClosed = false

  /** Throws any error that is not an outage, and StoreUnavailable once this is closed. */
  async function insist<Result> (work: () => Promise<Result>): Promise<Result> {
    const done = retryOutage(work, { isClosing: () => isClosed })
    pending.add(done)
    try {
      return await done
    } finally {
      pending.delete(done)
    }
  }

  /** As `insist`, but resolves with undefined if it fails. */
  async function write<Result> (work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await insist(work)
    } catch (error) {
      onError(error)
      return undefined
    }
  }

  return {
    insist,
    write,
    get isClosed (): boolean { return isClosed },
    /** Resolves at `close`. */
    closing: closing.promise,
    close (): void {
      isClosed = true
      closing.resolve()
    },
    /** Resolves when no write is pending. */
    async idle (): Promise<void> { await Promise.allSettled(pending) }
  }
}
