import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, Nano, Paging, Usd } from './shared.ts'
import { MapOf, Nullable, NullableDecimal, StringEnum } from '../shared/combinators.ts'

/** What usage can be summed up by, beside `tag:<name>`. */
export const usageDimensions = [
  'account', 'key', 'label', 'model', 'provider', 'day', 'week', 'month', 'estimated'
] as const

const Group = Nullable(Type.String())

/** What was used in all. What it is not summed up by is null. */
export const UsageRow = Type.Object({
  object: Type.Literal('usage'),
  /** The account that pays. */
  account: Group,
  key: Group,
  /** The present label of the key. */
  label: Group,
  model: Group,
  provider: Group,
  /** In UTC, e.g. `2026-11-21`, `2026-W47` and `2026-11`. */
  day: Group,
  week: Group,
  month: Group,
  /** Whether it was charged by an estimate. */
  estimated: Nullable(Type.Boolean()),
  /** By name; empty for requests without the tag. */
  tags: Nullable(MapOf(Type.String())),
  requests: Type.Integer(),
  /** How many of the requests were charged by an estimate. */
  estimated_requests: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  /** Those of the prompt that were read from a cache. */
  cached_tokens: Type.Integer(),
  /** Those of the completion that are reasoning. */
  reasoning_tokens: Type.Integer(),
  images: Type.Integer(),
  /** Of video. */
  seconds: Type.Number({ examples: [0] }),
  /** What the accounts were charged, less refunds. */
  cost_usd: Usd,
  cost_nano: Nano,
  /** How much more the best model of the pool would have cost for the same tokens, for requests to `auto`. */
  saved_usd: Usd,
  saved_nano: Nano,
  /** How many of the requests have a known provider cost. */
  costed_requests: Type.Integer(),
  /** What the operator pays for those; null without any. */
  provider_cost_usd: NullableDecimal(),
  provider_cost_nano: Nullable(Nano),
  /** What those were charged, less what the operator pays for them. */
  margin_usd: NullableDecimal(),
  margin_nano: Nullable(Nano)
})
export type UsageRow = Static<typeof UsageRow>

export const UsageList = ListOf(UsageRow)

const By = Type.String({
  minLength: 1,
  maxLength: 600,
  description: `One or more of ${usageDimensions.join(', ')} and tag:<name>, separated by commas.`
})
const Format = StringEnum(['json', 'csv'])
const Model = Type.String({ minLength: 1, maxLength: 512 })

const filter = {
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  account: Type.Optional(Id),
  model: Type.Optional(Model),
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 64 }))
}

/** Query of `GET /admin/usage`; from `from` on, before `to`. CSV has no pages but every row. */
export const UsageQuery = Closed({
  ...Paging,
  ...filter,
  by: Type.Optional(By),
  key: Type.Optional(Id),
  label: Type.Optional(Type.String({ maxLength: 200 })),
  estimated: Type.Optional(StringEnum(['true', 'false'])),
  tag: Type.Optional(Type.String({
    pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}=.{0,128}$', description: 'Only requests with this tag: <name>=<value>.'
  })),
  /** By account, counts a request for the accounts above the payer too; rows do not add up then. */
  children: Type.Optional(StringEnum(['true', 'false'])),
  format: Type.Optional(Format)
})
export type UsageQuery = Static<typeof UsageQuery>
