import type { requestOutcomes } from '../../../schemas/admin/requests.ts'
import { isPolicy } from '../../requests/candidates.ts'
import type { Store, Value } from '../../store/store.ts'
import { whereClause } from '../../store/where-clause.ts'
import { outcomes, type LoggedCall, type LoggedRequest } from './request-log.ts'

export type OutcomeName = typeof requestOutcomes[number]

export interface RecordQuery {
  /** The id of a request. */
  request?: string | undefined
  account?: string | undefined
  key?: string | undefined
  /** The model that ran, or the one that was asked for. */
  model?: string | undefined
  /** The provider that answered, or one that was called. */
  provider?: string | undefined
  /** A status such as `429`, or a class such as `5xx`. */
  status?: string | undefined
  outcome?: OutcomeName | undefined
  /** When the request ended, in milliseconds since 1970; `to` is exclusive. */
  from?: number | undefined
  to?: number | undefined
  /** Continues after the row with this `seq`. */
  after?: number | undefined
  limit: number
}

/** One request of the log. */
export interface RecordedRequest extends Omit<LoggedRequest, 'calls' | 'outcome' | 'stream'> {
  seq: number
  outcome: OutcomeName
  /** The policy that chose the model; null: the client named it. */
  policy: string | null
  isStream: boolean
  calls: LoggedCall[]
}

type Row = LoggedRequest & { seq: number }

/** Reads requests, the latest first. Throws StoreUnavailable. */
export async function readRecords (
  { reports }: Pick<Store, 'reports'>, query: RecordQuery
): Promise<RecordedRequest[]> {
  const { request, account, key, model, provider, status, outcome, from, to, after, limit } = query
  const params: Value[] = []
  const [lowest, highest] = status === undefined ? [] : statusRange(status)
  const where = whereClause([
    ['seq < ?', after ?? Number.MAX_SAFE_INTEGER],
    ['request = ?', request],
    ['account = ?', account],
    ['api_key = ?', key],
    ['(model = ? or asked = ?)', model],
    // A provider that was called and failed stands in the JSON alone.
    [calledAt, provider],
    ['status >= ?', lowest],
    ['status <= ?', highest],
    ['at >= ?', from],
    ['at < ?', to]
  ], params)
  const ending = outcome === undefined ? '' : `and ${outcomeConditions[outcome]}`
  const rows = await reports.all<Row>(
    `select * from request_log where ${where} ${ending} order by seq desc limit $${params.push(limit)}`, params)
  return rows.map(toRecord)
}

/** With the wildcards in the name as themselves. */
const calledAt = `(provider = ? or
  calls like '%"provider":"' || replace(replace(?, '%', '\\%'), '_', '\\_') || '"%' escape '\\')`

const outcomeConditions: Record<OutcomeName, string> = {
  succeeded: `outcome = ${outcomes.good}`,
  client_gone: `outcome = ${outcomes.clientGone}`,
  refused: `outcome = ${outcomes.failed} and status < 500`,
  failed: `outcome = ${outcomes.failed} and status >= 500`,
  broken_off: `outcome = ${outcomes.brokenOff}`
}

function statusRange (status: string): [number, number] {
  if (!status.endsWith('xx')) return [Number(status), Number(status)]
  const hundreds = Number(status[0]) * 100
  return [hundreds, hundreds + 99]
}

function toRecord ({ calls, outcome, stream, ...row }: Row): RecordedRequest {
  return {
    ...row,
    outcome: outcomeOf(outcome, row.status),
    policy: row.asked !== null && isPolicy(row.asked) ? row.asked : null,
    isStream: stream === 1,
    calls: calls === null ? [] : JSON.parse(calls)
  }
}

function outcomeOf (outcome: number, status: number): OutcomeName {
  if (outcome === outcomes.good) return 'succeeded'
  if (outcome === outcomes.clientGone) return 'client_gone'
  return outcome === outcomes.brokenOff ? 'broken_off' : status < 500 ? 'refused' : 'failed'
}
