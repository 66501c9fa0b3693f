import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, MonthName, Nano, Paging, Usd } from './shared.ts'
import { StringEnum } from '../shared/combinators.ts'

const Line = Type.Object({ amount_usd: Usd, amount_nano: Nano })
const none = { amount_usd: 0, amount_nano: 0 }

/**
 * The statement of an account for a month in UTC, with the accounts below it. Amounts are signed: the opening
 * balance and all movements make the closing balance.
 */
export const Statement = Type.Object({
  object: Type.Literal('statement'),
  account: Type.String(),
  name: Type.String(),
  month: Type.String(),
  opening_usd: Usd,
  opening_nano: Nano,
  movements: Type.Object({
    deposits: Line,
    withdrawals: Line,
    transfers_in: Line,
    transfers_out: Line,
    adjustments: Line,
    usage: Line,
    refunds: Line
  }),
  closing_usd: Usd,
  closing_nano: Nano
}, {
  examples: [{
    object: 'statement',
    account: 'team-search',
    name: 'Search team',
    month: '2026-11',
    opening_usd: 75,
    opening_nano: 75_000_000_000,
    movements: {
      deposits: { amount_usd: 25, amount_nano: 25_000_000_000 },
      withdrawals: none,
      transfers_in: none,
      transfers_out: none,
      adjustments: none,
      usage: { amount_usd: -12.5, amount_nano: -12_500_000_000 },
      refunds: none
    },
    closing_usd: 87.5,
    closing_nano: 87_500_000_000
  }]
})
export type Statement = Static<typeof Statement>

export const StatementList = ListOf(Statement)

/** Query of `GET /admin/statements`. CSV has no pages but every row. */
export const StatementQuery = Closed({
  ...Paging,
  month: MonthName,
  account: Type.Optional(Id),
  format: Type.Optional(StringEnum(['json', 'csv']))
})

/** The balance of an account before a time. */
export const BalanceAt = Type.Object({
  object: Type.Literal('balance'),
  account: Type.String(),
  at: Type.String(),
  balance_usd: Usd,
  balance_nano: Nano
})
export type BalanceAt = Static<typeof BalanceAt>

/** Query of `GET /admin/accounts/:id/balance`; now by default. */
export const BalanceQuery = Closed({ at: Type.Optional(Instant) })
