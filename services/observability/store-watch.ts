import type { Store } from '../store/store.ts'
import { periodically } from '../shared/timers.ts'

/** Knows how long the store has not answered. */
export interface StoreWatch {
  /** For how long it has been away, in ms; 0 while it answers. */
  awayMs (): number
  stop (): Promise<void>
}

interface StoreWatchOptions {
  store: Pick<Store, 'get'>
  everyMs?: number
  /** Milliseconds of a clock that is never set. */
  monotonic?: () => number
}

/** Asks the store now and then whether it is there; requests have nothing to do with that. */
export function watchStore (
  { store, everyMs = 2000, monotonic = () => performance.now() }: StoreWatchOptions
): StoreWatch {
  let answeredMs = monotonic()
  let isAway = false
  const asking = periodically(() => everyMs, async () => {
    const askedMs = monotonic()
    await store.get('select 1 as here')
    answeredMs = askedMs
    isAway = false
  }, () => { isAway = true })

  return {
    // A question that nobody answers is no failure yet; but it does not stay without an answer for long.
    awayMs () {
      const ms = monotonic() - answeredMs
      return isAway || ms > 3 * everyMs ? ms : 0
    },
    stop: () => asking.stop()
  }
}
