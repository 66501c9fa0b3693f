import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, Nano, Paging, Usd } from './shared.ts'
import { MapOf, Nullable, NullableDecimal, StringEnum } from '../shared/combinators.ts'

/** Dimensions of usage reports, besides `tag:<name>`. */
export const usageDimensions = [
  'account', 'key', 'label', 'model', 'provider', 'day', 'week', 'month', 'estimated'
] as const

const Group = Nullable(Type.String())

/** Total usage of one group. Dimensions that are not grouped by are null. */
export const UsageRow = Type.Object({
  object: Type.Literal('usage'),
  /** The account that pays. */
  account: Group,
  key: Group,
  /** The current label of the key. */
  label: Group,
  model: Group,
  provider: Group,
  /** In UTC, e.g. `2026-11-21`, `2026-W47` and `2026-11`. */
  day: Group,
  week: Group,
  month: Group,
  /** Whether the charge is an estimate. */
  estimated: Nullable(Type.Boolean()),
  /** By name; empty for requests without the tag. */
  tags: Nullable(MapOf(Type.String())),
  requests: Type.Integer(),
  /** Requests that were charged by an estimate. */
  estimated_requests: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  /** Prompt tokens read from a cache. */
  cached_tokens: Type.Integer(),
  /** Completion tokens that are reasoning. */
  reasoning_tokens: Type.Integer(),
  images: Type.Integer(),
  /** Seconds of video. */
  seconds: Type.Number({ examples: [0] }),
  /** Charges less refunds. */
  cost_usd: Usd,
  cost_nano: Nano,
  /** For requests to `auto`: the price of the same tokens at the pool's best model, less the charge. */
  saved_usd: Usd,
  saved_nano: Nano,
  /** Requests whose provider cost is available. */
  costed_requests: Type.Integer(),
  /** The operator's cost of those requests; null if there are none. */
  provider_cost_usd: NullableDecimal(),
  provider_cost_nano: Nullable(Nano),
  /** The charges of those requests less their cost. */
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
  /** By account: also counts each request for the accounts above the payer, so rows do not add up. */
  children: Type.Optional(StringEnum(['true', 'false'])),
  format: Type.Optional(Format)
})
export type UsageQuery = Static<typeof UsageQuery>
