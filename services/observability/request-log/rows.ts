import type { RequestSummary } from '../../requests/request-summary.ts'
import { createJsonRows } from '../../store/json-rows.ts'
import { createRowInsert } from '../../store/insert-rows.ts'
import type { Store, Value } from '../../store/store.ts'

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
  /** The value of `x-tollgate-route`; null if the client named the model. */
  routed: string | null
}

export const outcomes = { good: 0, clientGone: 1, failed: 2, brokenOff: 3 } as const

/** Returns the row of a request that ended at `at`; null for a request without a key. */
export function toLoggedRequest (finished: RequestSummary, at: number, weight: number): LoggedRequest | null {
  const { id, key, route, path, status, trace, startedMs, endedMs } = finished
  if (key === null) return null
  const usage = trace.report?.usage
  return {
    request: id,
    at,
    api_key: key.id,
    account: key.account,
    route: route ?? path,
    model: trace.model ?? '',
    provider: trace.provider ?? '',
    status,
    outcome: outcomeOf(finished),
    attempts: trace.attempts,
    prompt_tokens: usage?.prompt ?? 0,
    completion_tokens: usage?.completion ?? 0,
    cost_nano: trace.costNano ?? 0,
    first_byte_ms: trace.firstByteAtMs === null ? null : Math.round(trace.firstByteAtMs - startedMs),
    total_ms: Math.round(endedMs - startedMs),
    weight,
    routed: trace.route
  }
}

function outcomeOf ({ status, isClientGone, trace }: RequestSummary): number {
  if (isClientGone) return outcomes.clientGone
  if (status >= 400) return outcomes.failed
  return trace.failure === null ? outcomes.good : outcomes.brokenOff
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
  routed: 'text'
} as const
const names = Object.keys(columns) as (keyof typeof columns)[]

/** Returns a function that inserts rows in one transaction. */
export function createInsert (store: Store): (rows: readonly LoggedRequest[]) => Promise<void> {
  if (store.engine === 'sqlite') {
    const insert = createRowInsert<LoggedRequest>('request_log', { columns: names, add: addValues })
    return async rows => { await store.transaction(queries => insert(queries, rows)) }
  }
  const table = createJsonRows<LoggedRequest>(store.engine, columns)
  const list = names.join(', ')
  return async rows => {
    await store.run(`insert into request_log (${list}) select ${list} from ${table.sql} as fresh`,
      [table.parameter(rows)])
  }
}

/** In the order of the columns. */
function addValues (row: LoggedRequest, values: Value[]): void {
  values.push(row.request, row.at, row.api_key, row.account, row.route, row.model, row.provider, row.status,
    row.outcome, row.attempts, row.prompt_tokens, row.completion_tokens, row.cost_nano, row.first_byte_ms,
    row.total_ms, row.weight, row.routed)
}

/** Deletes up to `limit` of the oldest rows from before a time; returns their number. */
export async function prune (store: Store, before: number, limit: number): Promise<number> {
  return await store.run(`
    delete from request_log where seq in (
      select seq from request_log where at < cast($1 as bigint) order by seq limit $2
    )`, [before, limit])
}
