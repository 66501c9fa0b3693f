import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, Paging } from './shared.ts'
import { ExactDecimal, Nullable, StringEnum } from '../shared/combinators.ts'

/** By what reported costs are compared. */
export const reconciliationDimensions = ['account', 'model', 'provider', 'day', 'week', 'month'] as const

const Group = Nullable(Type.String())

/** What providers reported that requests have cost, beside what was expected. */
export const ReconciliationRow = Type.Object({
  object: Type.Literal('reconciliation'),
  account: Group,
  model: Group,
  provider: Group,
  day: Group,
  week: Group,
  month: Group,
  /** How many requests a provider reported a cost of. */
  reported_requests: Type.Integer({ examples: [412] }),
  reported_cost_usd: ExactDecimal({ examples: [1.31] }),
  reported_cost_nano: Type.Integer({ examples: [1_310_000_000] }),
  /** The cost of the same requests by the cost price; without one, what they were charged. */
  expected_cost_usd: ExactDecimal({ examples: [1.3] }),
  expected_cost_nano: Type.Integer({ examples: [1_300_000_000] }),
  /** What was reported less what was expected. */
  difference_usd: ExactDecimal({ examples: [0.01] }),
  difference_nano: Type.Integer({ examples: [10_000_000] }),
  /** Whether they differ by more than the tolerance. */
  differs: Type.Boolean()
})
export type ReconciliationRow = Static<typeof ReconciliationRow>

export const ReconciliationList = ListOf(ReconciliationRow)

/** Query of `GET /admin/reconciliation`; from `from` on, before `to`. CSV has no pages but every row. */
export const ReconciliationQuery = Closed({
  ...Paging,
  by: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 100,
    description: `One or more of ${reconciliationDimensions.join(', ')}, separated by commas.`
  })),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  account: Type.Optional(Id),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  provider: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  tolerance: Type.Optional(Type.String({ pattern: '^(0(\\.\\d{1,9})?|1(\\.0{1,9})?)$' })),
  format: Type.Optional(StringEnum(['json', 'csv']))
})
export type ReconciliationQuery = Static<typeof ReconciliationQuery>
