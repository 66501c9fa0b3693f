import type { Store, Value } from '../../../store/store.ts'

export type SummaryDimension = 'key' | 'model' | 'day'

export interface SummaryQuery {
  /** Each at most once. */
  by: readonly SummaryDimension[]
  /** Milliseconds since 1970; `to` is exclusive. */
  from: number
  to: number
  account?: string | undefined
  key?: string | undefined
  model?: string | undefined
  limit: number
  /** Continues after the row with these values of `by`. */
  after?: readonly string[] | undefined
}

/** Requests under one combination of `by`; other dimensions are null. Times in ms. */
export interface SummaryRow {
  key: string | null
  model: string | null
  /** As `2026-11-21`, in UTC. */
  day: string | null
  requests: number
  /** Rejected by the gateway or the provider because of the request: 4xx. */
  refused: number
  /** 5xx, and streams that broke off. */
  failed: number
  clientGone: number
  promptTokens: number
  completionTokens: number
  costNano: number
  averageMs: number | null
  maxMs: number | null
  averageFirstByteMs: number | null
}

const dayMs = 86_400_000

const expressions: Record<SummaryDimension, string> = {
  key: 'api_key', model: 'model', day: `at / ${dayMs}`
}

const total = (value: string) => `cast(coalesce(sum(${value}), 0) as bigint)`
const when = (condition: string) => total(`case when ${condition} then weight else 0 end`)

const sums = `
  ${total('weight')} as requests, ${when('outcome = 2 and status < 500')} as refused,
  ${when('(outcome = 2 and status >= 500) or outcome = 3')} as failed, ${when('outcome = 1')} as "clientGone",
  ${total('prompt_tokens * weight')} as "promptTokens", ${total('completion_tokens * weight')} as "completionTokens",
  ${total('cost_nano * weight')} as "costNano", ${when('outcome = 0')} as good,
  ${total('case when outcome = 0 then total_ms * weight else 0 end')} as "goodMs",
  max(case when outcome = 0 then total_ms end) as "maxMs", ${when('first_byte_ms is not null')} as firsts,
  ${total('coalesce(first_byte_ms, 0) * weight')} as "firstMs"`

type Selected = Omit<SummaryRow, 'averageMs' | 'averageFirstByteMs' | SummaryDimension> & {
  key?: string, model?: string, day?: number, good: number, goodMs: number, firsts: number, firstMs: number
}

/** Aggregates the request log. Times are of successful requests. Throws StoreUnavailable. */
export async function summarize (
  { reports }: Pick<Store, 'reports'>, query: SummaryQuery
): Promise<SummaryRow[]> {
  const { by, limit } = query
  const params: Value[] = [query.from, query.to]
  const conditions = ['at >= $1', 'at < $2']
  for (const [column, value] of [['account', query.account], ['api_key', query.key], ['model', query.model]] as const) {
    if (value !== undefined) conditions.push(`${column} = $${params.push(value)}`)
  }
  const groups = by.map(dimension => expressions[dimension])
  if (query.after !== undefined && by.length > 0) {
    const places = query.after.map((value, index) => {
      return `$${params.push(by[index] === 'day' ? Date.parse(value) / dayMs : value)}`
    })
    conditions.push(`(${groups.join(', ')}) > (${places.join(', ')})`)
  }
  const columns = by.map((dimension, index) => `${groups[index]} as "${dimension}", `).join('')
  const grouping = by.length === 0 ? '' : `group by ${groups.join(', ')} order by ${groups.join(', ')}`
  const rows = await reports.all<Selected>(`select ${columns} ${sums} from request_log
    where ${conditions.join(' and ')} ${grouping} limit $${params.push(limit)}`, params)
  return rows.map(({ key = null, model = null, day = null, good, goodMs, firsts, firstMs, ...row }) => ({
    ...row,
    key,
    model,
    day: day === null ? null : new Date(day * dayMs).toISOString().slice(0, 10),
    averageMs: good === 0 ? null : Math.round(goodMs / good),
    averageFirstByteMs: firsts === 0 ? null : Math.round(firstMs / firsts)
  }))
}
