import { retry } from '../../shared/timers.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { RunnerContext } from './runner-context.ts'

const firstPauseMs = 50
const longestPauseMs = 2_000

/**
 * Retries a write until the database accepts it, because a provider may not send a response twice. `write`
 * must be idempotent. Throws any error that is not an outage, and StoreUnavailable once the node is closing.
 */
export async function retryWrite<T> (
  { closing, log }: Pick<RunnerContext, 'closing' | 'log'>, id: string, write: () => Promise<T>
): Promise<T> {
  return await retry(write, (err, attempts) => {
    if (!(err instanceof StoreUnavailable) || closing.aborted) throw err
    log.warn({ job: id, err }, 'a job cannot be written')
    return Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1))
  })
}
