import { Type, type Static } from '@sinclair/typebox'
import { ExactDecimal, StringEnum } from '../shared/combinators.ts'

const open = { additionalProperties: true } as const

const usd = { description: 'US dollars, exact to the ninth decimal.' }
const savedText = 'How much more the best model of the pool would have cost for the same tokens, in US cents; ' +
  'negative if less.'
const cents = { description: 'US cents, exact to the seventh decimal.' }

/**
 * What the account of a key has: `balance` and `total_spent` add up to what was paid in; of `balance`, `held`
 * is for requests that are still running. `available` is what the key may spend now: the least that the
 * account, those above it and the budget of the key have left.
 */
export const Billing = Type.Object({
  balance: ExactDecimal(usd),
  currency: Type.Literal('usd'),
  total_spent: ExactDecimal(usd),
  available: ExactDecimal({
    description: 'What the key may spend now, in US dollars: the lowest amount left of its account, the accounts above it and its ' +
      'budget have left.'
  }),
  held: ExactDecimal(usd)
}, { ...open, examples: [{ balance: 87.5, currency: 'usd', total_spent: 12.5, available: 87.492, held: 0.008 }] })
export type Billing = Static<typeof Billing>

/** What a key may spend in all, in the shape of OpenAI's former endpoint. */
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

/** Query of `GET /v1/dashboard/billing/usage`: dates such as `2026-11-21`; `end_date` itself is not meant. */
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

/** What was spent day by day, in the shape of OpenAI's former endpoint. */
export const BillingUsage = Type.Object({
  object: Type.Literal('list'),
  total_usage: ExactDecimal(cents),
  total_saved: ExactDecimal({ description: `What \`auto\` saved. ${savedText}` }),
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
