import { Type, type Static } from '@sinclair/typebox'
import { Closed, ListOf, Nano, SummedBy, SumQuery, Usd } from './shared.ts'
import { Nullable } from '../shared/combinators.ts'

/** How requests went. Times are of those that ended well. */
export const RequestTotals = Type.Object({
  object: Type.Literal('request_summary'),
  ...SummedBy,
  requests: Type.Integer(),
  /** 4xx: because of the request itself, a limit, or the money. */
  refused_requests: Type.Integer(),
  /** 5xx, and streams that broke off. */
  failed_requests: Type.Integer(),
  client_gone_requests: Type.Integer(),
  /** The failed ones among all, from 0 to 1. */
  error_rate: Type.Number(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  cost_usd: Usd,
  cost_nano: Nano,
  average_ms: Nullable(Type.Integer()),
  max_ms: Nullable(Type.Integer()),
  average_first_byte_ms: Nullable(Type.Integer())
})
export type RequestTotals = Static<typeof RequestTotals>

export const RequestTotalsList = ListOf(RequestTotals)

/** Query of `GET /admin/requests`. */
export const RequestTotalsQuery = Closed(SumQuery)
