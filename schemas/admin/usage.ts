import { Type, type Static } from '@sinclair/typebox'
import { Closed, ListOf, Nano, SummedBy, SumQuery, Usd } from './shared.ts'
import { StringEnum } from '../shared/combinators.ts'

/** What usage can be summed up by. */
export const usageDimensions = ['key', 'model', 'day'] as const

/** What was used in all. */
export const UsageRow = Type.Object({
  object: Type.Literal('usage'),
  ...SummedBy,
  requests: Type.Integer(),
  /** How many of the requests were charged by an estimate. */
  estimated_requests: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  cost_usd: Usd,
  cost_nano: Nano
})
export type UsageRow = Static<typeof UsageRow>

export const UsageList = ListOf(UsageRow)

/** Query of `GET /admin/usage`. CSV has no pages but every row. */
export const UsageQuery = Closed({ ...SumQuery, format: Type.Optional(StringEnum(['json', 'csv'])) })
export type UsageQuery = Static<typeof UsageQuery>
