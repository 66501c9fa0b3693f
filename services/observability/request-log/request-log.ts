import type { RequestSummary } from '../../requests/request-summary.ts'
import { StoreUnavailable, type Store } from '../../store/store.ts'
import { createInsert, prune, toLoggedRequest, type LoggedRequest } from './rows.ts'
import { periodically } from '../../shared/timers.ts'

export interface RequestLogOptions {
  store: Store
  /** The share of successful requests to record, above 0 and at most 1. All failed ones are recorded. */
  sample: number
  /** Retention of rows; ms. */
  keepMs: number
  onError: (error: unknown) => void
  /** Milliseconds since 1970. */
  clock?: () => number
  /** In [0, 1). */
  random?: () => number
  flushMs?: number
  pruneEveryMs?: number
}

/** Records requests in the database, for reports. */
export interface RequestLog {
  /** Adds a request to the next batch. */
  add (finished: RequestSummary): void
  /** Writes all pending rows. Throws StoreUnavailable. */
  flush (): Promise<void>
  /** Deletes expired rows in batches; returns their number. */
  prune (): Promise<number>
  /** Rows that were dropped or rejected by the store. */
  readonly lostCount: number
  close (): Promise<void>
}

/** Further rows are dropped: this log is not worth more memory. */
const maxWaiting = 20_000
/** Smaller for SQLite, whose writes block the event loop. */
const batchRows = { sqlite: 250, postgres: 1000 }
/** Small, because a transaction blocks other writers. */
const pruneRows = 500

/** Creates the log of one node. No request waits for it; rows that cannot be written in time are counted. */
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

  /** Flushes run one at a time, so each writes everything that was added before it. */
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
