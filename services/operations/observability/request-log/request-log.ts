import type { RequestSummary } from '../../../requests/request-summary.ts'
import { requestedModelOf, type CallRecord, type RequestRecord } from '../../../requests/request-record.ts'
import { periodically } from '../../../shared/timers.ts'
import { createRowInsert } from '../../../store/sqlite-connection.ts'
import { createJsonRows } from '../../../store/json-rows.ts'
import { StoreUnavailable, type Store } from '../../../store/store.ts'

export interface RequestLogOptions {
  store: Store
  /** The share of successful requests to record, above 0 and at most 1. All failed ones are recorded. */
  sample: number
  /** Retention of rows; ms. */
  keepMs: number
  onError: (error: unknown) => void
  /** Milliseconds since 1970. */
  clock?: () => number
  /** The clock of `performance.now()`. */
  monotonic?: () => number
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

/** Further rows are dropped, to bound memory. */
const maxWaiting = 20_000
/** Smaller for SQLite, whose writes block the event loop. */
const batchRows = { sqlite: 250, postgres: 1000 }
/** Small, because a transaction blocks other writers. */
const pruneRows = 500

/**
 * Creates the log of one node. No request waits for it; rows that cannot be written in time are counted. Long
 * because its short methods share private state.
 */
export function createRequestLog (options: RequestLogOptions): RequestLog {
  const { store, sample, keepMs, onError, clock = store.clock, random = Math.random } = options
  const { flushMs = 100, pruneEveryMs = 60_000, monotonic = () => performance.now() } = options
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
      const isFailure = finished.status >= 400 || finished.record.failure !== null
      if (!isFailure && sample < 1 && random() >= sample) return
      if (waiting.length >= maxWaiting) {
        lostCount++
        return
      }
      // A summary may arrive late, for example after a call without its client.
      const endedAt = clock() - Math.max(0, Math.round(monotonic() - finished.endedMs))
      const row = toLoggedRequest(finished, endedAt, isFailure ? 1 : Math.round(1 / sample))
      if (row !== null) waiting.push(row)
    },
    async close () {
      await Promise.all([flushing.stop(), pruning.stop()])
      await flush().catch(onError)
    }
  }
}

/** One row of `request_log`; times in ms. */
export type LoggedRequest = {
  request: string
  at: number
  api_key: string
  account: string
  route: string
  model: string
  provider: string
  status: number
  outcome: number
  attempts: number
  prompt_tokens: number
  completion_tokens: number
  cost_nano: number
  first_byte_ms: number | null
  total_ms: number
  weight: number
  /** The value of `x-tollgate-route`; null without a policy. */
  routed: string | null
  /** The requested model id. */
  asked: string | null
  /** 1 if the client requested a stream. */
  stream: number
  held_nano: number | null
  /** The code of the error sent to the client, and the provider's message about it. */
  code: string | null
  words: string | null
  job: string | null
  /** `LoggedCall[]` as JSON; null without a call. */
  calls: string | null
  /** The value of `x-tollgate-plugins`; null without plugins. */
  plugins: string | null
}

/** One call of a provider; times in ms from the start of the request, and of the call. */
export interface LoggedCall extends Pick<CallRecord, 'provider' | 'model' | 'status' | 'failure' | 'code' | 'words'> {
  /** The price that applied; absent: the model's. */
  basis?: 'family'
  at: number
  ms: number | null
}

export const outcomes = { good: 0, clientGone: 1, failed: 2, brokenOff: 3 } as const

/** Returns the row of a request that ended at `at`; null for a request without a key. */
export function toLoggedRequest (finished: RequestSummary, at: number, weight: number): LoggedRequest | null {
  const { id, key, route, path, status, record, startedMs, endedMs } = finished
  if (key === null) return null
  const usage = record.report?.usage
  return {
    request: id,
    at,
    api_key: key.id,
    account: key.account,
    route: route ?? path,
    model: record.model ?? '',
    provider: record.provider ?? '',
    status,
    outcome: outcomeOf(finished),
    attempts: record.attempts,
    prompt_tokens: usage?.prompt ?? 0,
    completion_tokens: usage?.completion ?? 0,
    cost_nano: record.costNano ?? 0,
    first_byte_ms: record.firstByteAtMs === null ? null : Math.round(record.firstByteAtMs - startedMs),
    total_ms: Math.round(endedMs - startedMs),
    weight,
    routed: record.route,
    asked: requestedModelOf(record),
    stream: record.isStream ? 1 : 0,
    held_nano: record.heldNano,
    code: record.code,
    words: record.words,
    job: record.job,
    calls: callsIn(record, startedMs),
    plugins: record.plugins?.join(', ') ?? null
  }
}

function callsIn ({ calls }: RequestRecord, fromMs: number): string | null {
  if (calls.length === 0) return null
  return JSON.stringify(calls.map((call): LoggedCall => {
    const { provider, model, startedMs, endedMs, status, failure, code, words, priceBasis: basis } = call
    const ms = endedMs === null ? null : Math.round(endedMs - startedMs)
    const at = Math.round(startedMs - fromMs)
    return { provider, model, status, failure, code, words, at, ms, ...(basis && { basis }) }
  }))
}

function outcomeOf ({ status, isClientGone, record }: RequestSummary): number {
  if (isClientGone) return outcomes.clientGone
  if (status >= 400) return outcomes.failed
  return record.failure === null ? outcomes.good : outcomes.brokenOff
}

const columns = {
  request: 'text',
  at: 'bigint',
  api_key: 'text',
  account: 'text',
  route: 'text',
  model: 'text',
  provider: 'text',
  status: 'bigint',
  outcome: 'bigint',
  attempts: 'bigint',
  prompt_tokens: 'bigint',
  completion_tokens: 'bigint',
  cost_nano: 'bigint',
  first_byte_ms: 'bigint',
  total_ms: 'bigint',
  weight: 'bigint',
  routed: 'text',
  asked: 'text',
  stream: 'bigint',
  held_nano: 'bigint',
  code: 'text',
  words: 'text',
  job: 'text',
  calls: 'text',
  plugins: 'text'
} as const
const names = Object.keys(columns) as (keyof typeof columns)[]

/** Returns a function that inserts rows in one transaction. */
export function createInsert (store: Store): (rows: readonly LoggedRequest[]) => Promise<void> {
  if (store.engine === 'sqlite') {
    const insert = createRowInsert<LoggedRequest>('request_log', {
      columns: names,
      add: (row, values) => { for (const name of names) values.push(row[name]) }
    })
    return async rows => { await store.transaction(queries => insert(queries, rows)) }
  }
  const table = createJsonRows<LoggedRequest>(store.engine, columns)
  const list = names.join(', ')
  return async rows => {
    await store.run(`insert into request_log (${list}) select ${list} from ${table.sql} as fresh`,
      [table.parameter(rows)])
  }
}

/** Deletes up to `limit` rows from before a time; returns their number. An order would read all rows. */
export async function prune (store: Store, before: number, limit: number): Promise<number> {
  return await store.run(`
    delete from request_log where seq in (
      select seq from request_log where at < cast($1 as bigint) limit $2
    )`, [before, limit])
}
