import { Type, type Static } from '@sinclair/typebox'
import { ExactDecimal, StringEnum } from '../shared/combinators.ts'

const open = { additionalProperties: true } as const

const usd = { description: 'US dollars, exact to the ninth decimal.' }
const savedText = 'Price of the same tokens at the best model of the pool, less the charge, in US cents; may be ' +
  'negative.'
const cents = { description: 'US cents, exact to the seventh decimal.' }

/**
 * The money of a key's account. `balance` and `total_spent` add up to the credits; `held` is the part of
 * `balance` reserved for running requests. `available` is what the key may spend now: the least of the
 * account, the accounts above it and the budget of the key.
 */
export const Billing = Type.Object({
  balance: ExactDecimal(usd),
  currency: Type.Literal('usd'),
  total_spent: ExactDecimal(usd),
  available: ExactDecimal({
    description: 'What the key may spend now, in US dollars: the least of its account, the accounts above it and its ' +
      'budget.'
  }),
  held: ExactDecimal(usd)
}, { ...open, examples: [{ balance: 87.5, currency: 'usd', total_spent: 12.5, available: 87.492, held: 0.008 }] })
export type Billing = Static<typeof Billing>

/** The spending limit of a key, in the shape of OpenAI's former endpoint. */
export const BillingSubscription = Type.Object({
  object: Type.Literal('billing_subscription'),
  has_payment_method: Type.Boolean(),
  soft_limit_usd: ExactDecimal(usd),
  hard_limit_usd: ExactDecimal(usd),
  system_hard_limit_usd: ExactDecimal(usd),
  access_until: Type.Integer({ description: 'Unix seconds.' })
}, {
  ...open,
  examples: [{
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: 100,
    hard_limit_usd: 100,
    system_hard_limit_usd: 100,
    access_until: 253_402_300_799
  }]
})
export type BillingSubscription = Static<typeof BillingSubscription>

/** Query of `GET /v1/dashboard/billing/usage`: dates such as `2026-11-21`; `end_date` is exclusive. */
export const BillingUsageQuery = Type.Object({
  start_date: Type.Optional(Type.String({ maxLength: 64 })),
  end_date: Type.Optional(Type.String({ maxLength: 64 })),
  by: Type.Optional(Type.String({
    maxLength: 300,
    description: 'How costs are grouped: day, week or month, and model, estimated or tag:<name>, separated by ' +
      'commas. JSON takes at most one of each, CSV any. Default: day,model.'
  })),
  scope: Type.Optional(StringEnum(['key'])),
  format: Type.Optional(StringEnum(['json', 'csv']))
}, open)
export type BillingUsageQuery = Static<typeof BillingUsageQuery>

/** Spending by day, in the shape of OpenAI's former endpoint. */
export const BillingUsage = Type.Object({
  object: Type.Literal('list'),
  total_usage: ExactDecimal(cents),
  total_saved: ExactDecimal({ description: `Savings of \`auto\`. ${savedText}` }),
  daily_costs: Type.Array(Type.Object({
    timestamp: Type.Integer({ description: 'Start of the day, week or month in UTC, in Unix seconds.' }),
    saved: ExactDecimal({ description: savedText }),
    line_items: Type.Array(Type.Object({ name: Type.String(), cost: ExactDecimal(cents) }, open))
  }, open))
}, {
  ...open,
  examples: [{
    object: 'list',
    total_usage: 0.20318,
    total_saved: 0,
    daily_costs: [{
      timestamp: 1_795_219_200,
      saved: 0,
      line_items: [{ name: 'sandbox-chat', cost: 0.00318 }, { name: 'sandbox-image', cost: 0.2 }]
    }]
  }]
})
export type BillingUsage = Static<typeof BillingUsage>
