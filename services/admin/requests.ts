import type { RequestTotals } from '../../schemas/admin/requests.ts'
import { summarize, type SummaryDimension, type SummaryQuery, type SummaryRow } from '../observability/request-log/summary.ts'
import type { Store } from '../store/store.ts'
import { amountFields } from './amounts.ts'
import { readPage, type Page, type PageRequest, type TimeRange } from './page.ts'

export type RequestFilter = Omit<SummaryQuery, 'limit' | 'after' | 'from' | 'to'> & TimeRange

const summaryDimensions = ['key', 'model', 'day'] as const satisfies SummaryDimension[]

/** Parses dimensions such as `key,day`; default: all. */
export function toRequestDimensions (text: string = summaryDimensions.join(',')): SummaryDimension[] {
  const names = text.split(',')
  return summaryDimensions.filter(dimension => names.includes(dimension))
}

/** Summarizes the request log. Throws GatewayError 400 for a wrong page, StoreUnavailable. */
export async function listRequests (
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
