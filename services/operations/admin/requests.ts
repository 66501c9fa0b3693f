import type { LoggedRequestItem, RequestTotals, RequestWithEntries } from '../../../schemas/admin/requests.ts'
import { entryIdSql } from '../../billing/ledger/entry-id.ts'
import { entriesOfPeriod, refIs } from '../../billing/ledger/sql/entry-blocks.ts'
import { readRecords, type RecordedRequest, type RecordQuery } from '../observability/request-log/records.ts'
import type { LoggedCall } from '../observability/request-log/request-log.ts'
import { GatewayError } from '../../shared/errors.ts'
import { isoTime } from '../../shared/iso-time.ts'
import { summarize, type SummaryDimension, type SummaryQuery, type SummaryRow } from '../observability/request-log/summary.ts'
import type { Store } from '../../store/store.ts'
import { amountFields } from './amounts.ts'
import type { Administration } from './administration.ts'
import { readPage, type Page, type PageRequest, type TimeRange } from './page.ts'

export type RequestFilter = Omit<SummaryQuery, 'limit' | 'after' | 'from' | 'to'> & TimeRange

const summaryDimensions = ['key', 'model', 'day'] as const satisfies SummaryDimension[]

/** Parses dimensions such as `key,day`; default: all. */
export function toRequestDimensions (text: string = summaryDimensions.join(',')): SummaryDimension[] {
  const names = text.split(',')
  return summaryDimensions.filter(dimension => names.includes(dimension))
}

/** Summarizes the request log. Throws GatewayError 400 for a wrong page, StoreUnavailable. */
export async function listRequestTotals (
  store: Pick<Store, 'reports'>, { limit, after, ...filter }: RequestFilter & PageRequest
): Promise<Page<RequestTotals>> {
  const { by, from = 0, to = Number.MAX_SAFE_INTEGER } = filter
  return await readPage({ limit, after }, {
    example: by.map(() => ''),
    read: (after, limit) => summarize(store, { ...filter, from, to, limit, after }),
    toItem: toSummary,
    cursorOf: row => by.map(dimension => row[dimension] ?? '')
  })
}

function toSummary (row: SummaryRow): RequestTotals {
  const { key, model, day, requests, refused, failed, clientGone } = row
  return {
    object: 'request_summary',
    key,
    model,
    day,
    requests,
    refused_requests: refused,
    failed_requests: failed,
    client_gone_requests: clientGone,
    error_rate: requests === 0 ? 0 : failed / requests,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    ...amountFields('cost', row.costNano),
    average_ms: row.averageMs,
    max_ms: row.maxMs,
    average_first_byte_ms: row.averageFirstByteMs
  }
}

/** The paging of the request log. */
const byTime = {
  example: [0, 0] as [at: number, seq: number],
  cursorOf: ({ at, seq }: RecordedRequest) => [at, seq]
}

const rowAfter = (cursor?: [at: number, seq: number]) => cursor && { at: cursor[0], seq: cursor[1] }

export type LoggedRequestFilter = Omit<RecordQuery, 'limit' | 'after' | 'request'> & PageRequest

/** Lists requests, the latest first. Throws GatewayError 400 for a wrong page, StoreUnavailable. */
export async function listRequests (
  { store }: Pick<Administration, 'store'>, { limit, after, ...filter }: LoggedRequestFilter = {}
): Promise<Page<LoggedRequestItem>> {
  return await readPage({ limit, after }, {
    ...byTime,
    read: (after, limit) => readRecords(store, { ...filter, limit, after: rowAfter(after) }),
    toItem: toRequestItem
  })
}

/**
 * The requests with an id, latest first, with their entries: clients may send an id more than once. Throws
 * GatewayError 400 for a wrong page, 404 if there are none.
 */
export async function getRequests (
  { store, flush, actor }: Pick<Administration, 'store' | 'flush' | 'actor'>,
  id: string,
  page: PageRequest = {}
): Promise<Page<RequestWithEntries>> {
  await flush()
  const one = { request: id, account: actor.account ?? undefined }
  const found = await readPage(page, {
    ...byTime,
    read: (after, limit) => readRecords(store, { ...one, limit, after: rowAfter(after) }),
    toItem: record => record
  })
  if (found.data.length === 0) {
    throw new GatewayError(404, 'invalid_request_error', `The request \`${id}\` is not in the log.`, { code: 'request_not_found' })
  }
  const { entries, rivals } = await readRequestEntries(store, id, found.data)
  const owned = entriesByOwner(entries, rivals)
  const data = found.data.map(record => {
    const own = owned.get(record.seq) ?? []
    const shown = own.map(({ id, kind, amountNano }) => ({ id, kind, ...amountFields('amount', amountNano) }))
    return { ...toRequestItem(record), entries: shown }
  })
  return { ...found, data }
}

interface RequestEntry {
  id: string
  seq: number
  at: number
  kind: string
  key: string | null
  amountNano: number
}

/** Clocks of nodes differ, and a response whose client has left is booked when it ends. */
const beforeMs = 60_000
const afterMs = 3_600_000
/** If a client uses one id for many requests, those nearest in time are read. */
const maxEntries = 1_000

type Rival = Pick<RecordedRequest, 'seq' | 'at' | 'api_key' | 'total_ms' | 'cost_nano'>

/** The entries around the time of some requests with an id, and the requests that they may belong to. */
async function readRequestEntries (
  { reports, engine }: Pick<Store, 'reports' | 'engine'>, id: string, records: readonly RecordedRequest[]
): Promise<{ entries: RequestEntry[], rivals: Rival[] }> {
  const times = records.map(({ at }) => at)
  const longestMs = Math.max(...records.map(({ total_ms: totalMs }) => totalMs))
  const [from, to] = [Math.min(...times) - longestMs - beforeMs, Math.max(...times) + afterMs]
  const middle = Math.round((Math.min(...times) + Math.max(...times)) / 2)
  const nearestFirst = `order by abs(at - cast($4 as bigint)), seq limit ${maxEntries}`
  const entries = await reports.all<RequestEntry>(`
    select ${entryIdSql()} as id, seq, at, kind, api_key as "key", amount as "amountNano"
    from ${entriesOfPeriod(engine)}
    where at >= $1 and at < $2 and ${refIs('$3')} and kind in ('usage', 'suspense') ${nearestFirst}`, [from, to, id, middle])
  const rivals = await reports.all<Rival>(`
    select seq, at, api_key, total_ms, cost_nano from request_log
    where at >= $1 and at < $2 and request = $3 ${nearestFirst}`,
  [from - afterMs, to + beforeMs, id, middle])
  return { entries: entries.toSorted((one, other) => one.seq - other.seq), rivals }
}

/** Entries by the `seq` of their most likely request, if several have one id. */
function entriesByOwner (
  entries: readonly RequestEntry[], rivals: readonly Rival[]
): ReadonlyMap<number, RequestEntry[]> {
  const owned = new Map<number, RequestEntry[]>()
  for (const entry of entries) {
    const possible = rivals.filter(({ api_key: key }) => entry.key === null || key === entry.key)
    const [owner] = possible
      .map(({ seq, ...rival }) => ({ seq, doubt: doubtMs(entry, rival, owned.has(seq)) }))
      .sort((one, other) => one.doubt - other.doubt)
    if (owner !== undefined) owned.set(owner.seq, [...owned.get(owner.seq) ?? [], entry])
  }
  return owned
}

/** Weight of a mismatch, larger than any distance in time. */
const doubtsMs = { otherCost: 4e9, hasEntry: 2e9, notUnderWay: 1e9 }

function doubtMs ({ at, kind, amountNano }: RequestEntry, rival: Omit<Rival, 'seq'>, hasEntry: boolean): number {
  const { at: endedAt, total_ms: totalMs, cost_nano: costNano } = rival
  const isUsage = kind === 'usage'
  return Math.abs(endedAt - at) +
    (isUsage && costNano !== amountNano ? doubtsMs.otherCost : 0) +
    (isUsage && hasEntry ? doubtsMs.hasEntry : 0) +
    (at < endedAt - totalMs || at > endedAt ? doubtsMs.notUnderWay : 0)
}

/** Fields with one name in the log and the admin API need no line here. */
function toRequestItem (record: RecordedRequest): LoggedRequestItem {
  const { seq: _seq, weight: _weight, request, at, api_key: key, asked, routed, ...others } = record
  const { isStream, code, words, ...rest } = others
  const { model, provider, calls, attempts, held_nano: heldNano, cost_nano: costNano, ...figures } = rest
  return {
    object: 'request',
    id: request,
    started_at: isoTime(at - figures.total_ms),
    ended_at: isoTime(at),
    key,
    model_asked: asked,
    decision: routed,
    model: model || null,
    provider: provider || calls.at(-1)?.provider || null,
    stream: isStream,
    error_code: code,
    provider_words: words,
    attempt_count: attempts,
    attempts: calls.map(toAttempt),
    ...(heldNano === null ? { held_usd: null, held_nano: null } : amountFields('held', heldNano)),
    ...amountFields('cost', costNano),
    ...figures
  }
}

function toAttempt ({ at, ms, basis, ...call }: LoggedCall): LoggedRequestItem['attempts'][number] {
  return { ...call, started_ms: at, duration_ms: ms, price_basis: basis ?? null }
}
