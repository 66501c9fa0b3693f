import type { outcomeFilters, requestOutcomes } from '../../../../schemas/admin/requests.ts'
import { isPolicy } from '../../../requests/candidates.ts'
import type { Store, Value } from '../../../store/store.ts'
import { whereClause } from '../../../store/where-clause.ts'
import { outcomes, type LoggedCall, type LoggedRequest } from './request-log.ts'

export type OutcomeName = typeof requestOutcomes[number]

export interface RecordQuery {
  /** The id of a request. */
  request?: string | undefined
  account?: string | undefined
  key?: string | undefined
  /** The model that ran, or the requested one. */
  model?: string | undefined
  /** The provider that served the request, or one that was called. */
  provider?: string | undefined
  /** A status such as `429`, or a class such as `5xx`. */
  status?: string | undefined
  /** The provider whose call failed. */
  failedAt?: string | undefined
  outcome?: typeof outcomeFilters[number] | undefined
  /** When the request ended, in milliseconds since 1970; `to` is exclusive. */
  from?: number | undefined
  to?: number | undefined
  /** Continues after the row with these values. */
  after?: Pick<RecordedRequest, 'at' | 'seq'> | undefined
  limit: number
}

/** One request of the log. */
export interface RecordedRequest extends Omit<LoggedRequest, 'calls' | 'outcome' | 'stream'> {
  seq: number
  outcome: OutcomeName
  /** The policy that chose the model; null if the client named it. */
  policy: string | null
  isStream: boolean
  calls: LoggedCall[]
}

type Row = LoggedRequest & { seq: number }

/** Reads requests, those that ended last first. Throws StoreUnavailable. */
export async function readRecords (
  { engine, reports }: Pick<Store, 'engine' | 'reports'>, query: RecordQuery
): Promise<RecordedRequest[]> {
  const { request, account, key, model, provider, failedAt, status, outcome, from, to, after, limit } = query
  const params: Value[] = []
  const place = (value: Value) => `$${params.push(value)}`
  const max = place(limit)
  const named = model === undefined ? null : place(model)
  const called = provider === undefined ? null : place(provider)
  const where = whereClause([
    ['at < ?', to ?? Number.MAX_SAFE_INTEGER],
    ['request = ?', request],
    ['account = ?', account],
    ['api_key = ?', key],
    ['at >= ?', from]
  ], params)
  const common = [
    where,
    ...(after === undefined ? [] : [`(at, seq) < (${place(after.at)}, ${place(after.seq)})`]),
    ...(status === undefined ? [] : [statusCondition(status)])
  ]
  const failed = failedAt === undefined ? null : place(failedAt)
  const alternatives = [conditionsOf(named, called), outcomesOf(outcome), failuresAt(engine, failed)]
    .reduce((before, filter) => before.flatMap(all => filter.map(own => [...all, ...own])), [common])
  const rows = await reports.all<Row>(newestOf(alternatives, max), params)
  return rows.map(toRecord)
}

/**
 * Returns the filters by model and provider as disjoint alternatives, each with its own index.
 */
function conditionsOf (model: string | null, provider: string | null): string[][] {
  const byProvider = provider === null ? [[]] : [[`provider = ${provider}`], calledFirst(provider)]
  const byModel = model === null
    ? [[]]
    : [[`model = ${model}`], [`${otherModel} = ${model}`, 'asked <> model']]
  return byModel.flatMap(ofModel => byProvider.map(ofProvider => [...ofModel, ...ofProvider]))
}

/** The requested model if another one ran, as in its index. */
const otherModel = 'case when asked <> model then asked end'

/** Returns the conditions of requests in which a call to a provider failed, as alternatives. */
function failuresAt (engine: Store['engine'], provider: string | null): string[][] {
  if (provider === null) return [[]]
  const calls = engine === 'sqlite' ? 'json_each(request_log.calls)' : 'json_array_elements(request_log.calls::json)'
  const failure = `exists (select 1 from ${calls} as call
    where call.value ->> 'provider' = ${provider} and call.value ->> 'failure' is not null)`
  const served = ['attempts <= 1', `provider = ${provider}`]
  return [
    [hasOtherCalls, failure],
    [...served, isError, failure],
    [...served, `status < 400 and (${outcomeConditions.client_gone} or ${outcomeConditions.broken_off})`, failure]
  ]
}

/** As in the index of requests with a failed call. */
const hasOtherCalls = "(attempts > 1 or provider = '')"

/** A failed provider appears only in the JSON. Wildcards in its name are escaped. */
function calledFirst (provider: string): string[] {
  const name = `replace(replace(${provider}, '%', '\\%'), '_', '\\_')`
  return [
    hasOtherCalls, `provider <> ${provider}`,
    `calls like '%"provider":"' || ${name} || '"%' escape '\\'`
  ]
}

/** Returns the query of the newest rows that meet all conditions of an alternative. */
function newestOf (alternatives: readonly string[][], max: string): string {
  const parts = alternatives.map(all => `select * from (
    select * from request_log where ${all.join(' and ')} ${newestFirst} limit ${max}) as alternative`)
  return `${parts.join(' union all ')} ${newestFirst} limit ${max}`
}

const newestFirst = 'order by at desc, seq desc'

/** As in the index of errors. */
const isError = 'status >= 400'

const outcomeConditions: Record<OutcomeName, string> = {
  succeeded: `outcome = ${outcomes.good}`,
  client_gone: `outcome = ${outcomes.clientGone}`,
  refused: `outcome = ${outcomes.failed} and ${statusCondition('4xx')}`,
  failed: `outcome = ${outcomes.failed} and ${statusCondition('5xx')}`,
  broken_off: `outcome = ${outcomes.brokenOff}`
}

function outcomesOf (outcome: RecordQuery['outcome']): string[][] {
  if (outcome === undefined) return [[]]
  const names = outcome === 'error' ? ['failed', 'broken_off'] as const : [outcome]
  return names.map(name => [outcomeConditions[name]])
}

/** `status` is three digits, or one and `xx`. */
function statusCondition (status: string): string {
  const hundreds = Number(status[0]) * 100
  const own = status.endsWith('xx')
    ? `status between ${hundreds} and ${hundreds + 99}`
    : `status = ${Number(status)}`
  return hundreds < 400 ? own : `${own} and ${isError}`
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
