import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, Nano, Paging, Usd } from './admin.ts'
import { Nullable, StringEnum } from './combinators.ts'

/** What usage can be summed up by. */
export const usageDimensions = ['key', 'model', 'day'] as const

/** What was used in all; what it is not summed up by is null. */
export const UsageRow = Type.Object({
  object: Type.Literal('usage'),
  key: Nullable(Type.String()),
  model: Nullable(Type.String()),
  /** In UTC, e.g. `2026-11-21`. */
  day: Nullable(Type.String()),
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

/** Query of `GET /admin/usage`; from `from` on, before `to`. CSV has no pages but every row. */
export const UsageQuery = Closed({
  ...Paging,
  by: Type.Optional(Type.String({ pattern: '^(key|model|day)(,(key|model|day)){0,2}$' })),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  account: Type.Optional(Id),
  key: Type.Optional(Id),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  format: Type.Optional(StringEnum(['json', 'csv']))
})
export type UsageQuery = Static<typeof UsageQuery>
