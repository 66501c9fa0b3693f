import { Type, type Static } from '@sinclair/typebox'
import { Closed, GivenAmount, GivenLimits, Id, LimitSet, ListOf, Nano, Paging, Usd } from './shared.ts'
import { Nullable } from '../shared/combinators.ts'

/** An account: balance = credits − spent, available = balance − held. */
export const Account = Type.Object({
  object: Type.Literal('account'),
  id: Type.String(),
  name: Type.String(),
  parent: Nullable(Type.String()),
  created_at: Type.String(),
  /** Of all its keys and of the accounts that are part of it, together. */
  limits: LimitSet,
  credits_usd: Usd,
  credits_nano: Nano,
  spent_usd: Usd,
  spent_nano: Nano,
  held_usd: Usd,
  held_nano: Nano,
  balance_usd: Usd,
  balance_nano: Nano,
  available_usd: Usd,
  available_nano: Nano
})
export type Account = Static<typeof Account>

export const AccountList = ListOf(Account)

/** What people call an account. */
export const AccountName = Type.String({ minLength: 1, maxLength: 200 })

/** Body of `POST /admin/accounts`. */
export const NewAccount = Closed({
  id: Id,
  name: Type.Optional(AccountName),
  parent: Type.Optional(Nullable(Id)),
  limits: Type.Optional(GivenLimits)
})
export type NewAccount = Static<typeof NewAccount>

/** Body of `PATCH /admin/accounts/:id`; what is absent stays as it is. */
export const AccountChange = Closed({ limits: Type.Optional(GivenLimits) })
export type AccountChange = Static<typeof AccountChange>

export const AccountQuery = Closed(Paging)

/** The id of a posting, so that repeating it is a no-op; random by default. `entry_…` is the ledger's. */
export const PostingId = Type.String({ pattern: '^(?!entry_)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' })

/** Headers of the requests that book money. */
export const PostingHeaders = Type.Object({ 'idempotency-key': Type.Optional(PostingId) })
export type PostingHeaders = Static<typeof PostingHeaders>

/** Body of `POST /admin/accounts/:id/deposits`. */
export const NewDeposit = Closed({ id: Type.Optional(PostingId), ...GivenAmount })
export type NewDeposit = Static<typeof NewDeposit>

/** Body of `POST /admin/accounts/:id/refunds`; all that is left of the entry unless an amount is told. */
export const NewRefund = Closed({ id: Type.Optional(PostingId), entry: Id, ...GivenAmount })
export type NewRefund = Static<typeof NewRefund>

/** Body of `POST /admin/accounts/:id/adjustments`; below zero takes credit away. */
export const NewAdjustment = Closed({
  id: Type.Optional(PostingId),
  ...GivenAmount,
  reason: Type.String({ minLength: 1, maxLength: 500 })
})
export type NewAdjustment = Static<typeof NewAdjustment>
