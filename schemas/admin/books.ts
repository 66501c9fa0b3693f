import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, Nano, Paging, Usd } from './shared.ts'
import { StringEnum } from '../shared/combinators.ts'

const MonthName = Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' })

/** A month of the books, in UTC, that is closed for good. */
export const BooksMonth = Type.Object({
  object: Type.Literal('closed_month'),
  /** E.g. `2026-10`. */
  month: Type.String(),
  closed_at: Type.String(),
  /** Who has closed it, as in the audit log. */
  actor: Type.String(),
  /** The last entry that can be in it. */
  last_entry: Type.String()
})
export type BooksMonth = Static<typeof BooksMonth>

export const BooksMonthList = Type.Object({ object: Type.Literal('list'), data: Type.Array(BooksMonth) })
export type BooksMonthList = Static<typeof BooksMonthList>

/** Body of `POST /admin/books/close`. */
export const MonthToClose = Closed({ month: MonthName })
export type MonthToClose = Static<typeof MonthToClose>

const Line = Type.Object({ amount_usd: Usd, amount_nano: Nano })

/**
 * The statement of an account for a month in UTC, with the accounts below it. Amounts are signed: the opening
 * balance and all movements make the closing balance.
 */
export const Statement = Type.Object({
  object: Type.Literal('statement'),
  account: Type.String(),
  name: Type.String(),
  month: Type.String(),
  /** `open` until the month is closed: until then, entries may come in. */
  state: StringEnum(['open', 'closed']),
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
  /** Of the month that the time is in. */
  state: StringEnum(['open', 'closed']),
  balance_usd: Usd,
  balance_nano: Nano
})
export type BalanceAt = Static<typeof BalanceAt>

/** Query of `GET /admin/accounts/:id/balance`; now by default. */
export const BalanceQuery = Closed({ at: Type.Optional(Instant) })
