import type { Store } from '../../store/store.ts'
import { periodically } from '../../shared/timers.ts'

/** Measures how long the store has been unavailable. */
export interface StoreWatch {
  /** How long it has been unavailable, in ms; 0 while it responds. */
  awayMs (): number
  stop (): Promise<void>
}

interface StoreWatchOptions {
  store: Pick<Store, 'get'>
  everyMs?: number
  /** Milliseconds of a monotonic clock. */
  monotonic?: () => number
}

/** Queries the store every `everyMs`, independently of requests. */
export function watchStore (
  { store, everyMs = 2000, monotonic = () => performance.now() }: StoreWatchOptions
): StoreWatch {
  let respondedMs = monotonic()
  let isAway = false
  const checks = periodically(() => everyMs, async () => {
    const startedMs = monotonic()
    await store.get('select 1 as here')
    respondedMs = startedMs
    isAway = false
  }, () => { isAway = true })

  return {
    // A query without a response takes long to fail.
    awayMs () {
      const ms = monotonic() - respondedMs
      return isAway || ms > 3 * everyMs ? ms : 0
    },
    stop: () => checks.stop()
  }
}
