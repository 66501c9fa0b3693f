import { retry } from '../shared/timers.ts'
import { StoreUnavailable } from './store.ts'

const firstPauseMs = 50
const longestPauseMs = 2_000

interface RetryOptions {
  /** Whether the node is closing: then the next outage is thrown. */
  isClosing: () => boolean
  onOutage?: (error: StoreUnavailable) => void
}

/**
 * Retries a write until the database accepts it, pausing for 50 ms to 2 s. `write` must be idempotent. Throws
 * any error that is not an outage, and StoreUnavailable once the node is closing.
 */
export async function retryOutage<T> (
  write: () => Promise<T>, { isClosing, onOutage }: RetryOptions
): Promise<T> {
  return await retry(write, (error, attempts) => {
    if (!(error instanceof StoreUnavailable) || isClosing()) throw error
    onOutage?.(error)
    return Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1))
  })
}
