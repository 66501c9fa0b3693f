import { setTimeout as sleep } from 'node:timers/promises'
import { StoreUnavailable } from '../../store/store.ts'
import type { RunnerContext } from './runner-context.ts'

const firstPauseMs = 50
const longestPauseMs = 2_000

/**
 * Writes until the database takes it: what a provider has said once may never be heard again. Throws what is
 * no outage, and StoreUnavailable when the node lets go of its jobs meanwhile. `write` may be repeated after
 * it was carried out.
 */
export async function persist<T> (
  { closing, log }: RunnerContext, id: string, write: () => Promise<T>
): Promise<T> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await write()
    } catch (err) {
      if (!(err instanceof StoreUnavailable) || closing.aborted) throw err
      log.warn({ job: id, err }, 'a job cannot be written')
    }
    await sleep(pauseMs)
  }
}
