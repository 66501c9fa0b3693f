import type { RequestSummary } from '../../requests/request-summary.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { Store } from '../../store/store.ts'
import { createInsert, prune, toLoggedRequest } from './rows.ts'
import type { LoggedRequest } from './rows.ts'
import { periodically } from '../../shared/timers.ts'

export interface RequestLogOptions {
  store: Store
  /** The part of the requests that is kept, above 0 and at most 1. Those that fail are kept all. */
  sample: number
  /** How long rows are kept; ms. */
  keepMs: number
  onError: (error: unknown) => void
  /** Milliseconds since 1970. */
  clock?: () => number
  /** From 0 up to, not including, 1. */
  random?: () => number
  flushMs?: number
  pruneEveryMs?: number
}

/** Keeps a row of each request for those who look at them later. */
export interface RequestLog {
  /** Notes a request; it is written with others soon. */
  add (finished: RequestSummary): void
  /** Writes what is noted. Throws StoreUnavailable. */
  flush (): Promise<void>
  /** Removes what is too old, a batch at a time; returns how much. */
  prune (): Promise<number>
  /** Rows that found no room because the store was away. */
  readonly lostCount: number
  close (): Promise<void>
}

/** How many rows wait at most; this log is not worth the memory of more. */
const maxWaiting = 20_000
/** Small where writing keeps the event loop. */
const batchRows = { sqlite: 250, postgres: 1000 }
/** Small, so that no transaction keeps others waiting. */
const pruneRows = 500

/** Creates the log of one node. It never makes a request wait: what cannot be written in time is counted. */
export function createRequestLog (options: RequestLogOptions): RequestLog {
  const { store, sample, keepMs, onError, clock = Date.now, random = Math.random } = options
  const { flushMs = 100, pruneEveryMs = 60_000 } = options
  const insert = createInsert(store)
  const waiting: LoggedRequest[] = []
  let writing: Promise<void> = Promise.resolve()
  let lostCount = 0

  async function write (): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchRows[store.engine])
      try {
        await insert(batch)
      } catch (error) {
        if (error instanceof StoreUnavailable) waiting.unshift(...batch)
        else lostCount += batch.length
        throw error
      }
    }
  }

  /** One at a time: whoever asks for a flush finds in the store what was noted before. */
  function flush (): Promise<void> {
    const result = writing.then(write)
    writing = result.catch(() => {})
    return result
  }

  async function pruneOld (stopped: () => boolean = () => false): Promise<number> {
    let removed = 0
    while (!stopped()) {
      const count = await prune(store, clock() - keepMs, pruneRows)
      removed += count
      if (count < pruneRows) break
    }
    return removed
  }

  const flushing = periodically(() => flushMs, flush, onError)
  const pruning = periodically(() => pruneEveryMs, async signal => {
    await pruneOld(() => signal.aborted)
  }, onError)

  return {
    flush,
    prune: pruneOld,
    get lostCount () { return lostCount },
    add (finished) {
      const isFailure = finished.status >= 400 || finished.trace.failure !== null
      if (!isFailure && sample < 1 && random() >= sample) return
      if (waiting.length >= maxWaiting) {
        lostCount++
        return
      }
      const row = toLoggedRequest(finished, clock(), isFailure ? 1 : Math.round(1 / sample))
      if (row !== null) waiting.push(row)
    },
    async close () {
      await Promise.all([flushing.stop(), pruning.stop()])
      await flush().catch(onError)
    }
  }
}
