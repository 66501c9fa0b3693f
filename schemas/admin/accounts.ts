import { Type, type Static } from '@sinclair/typebox'
import { Closed, GivenAmount, GivenLimits, Id, LimitSet, ListOf, Nano, Paging, SearchFor, Usd } from './shared.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

const SoftPeriod = Nullable(StringEnum(['day', 'week', 'month']))

/**
 * An account: balance = credits − spent. Its figures include the accounts below it. The available
 * amount is the least balance of the account and its parents after their holds.
 */
export const Account = Type.Object({
  object: Type.Literal('account'),
  id: Type.String({ examples: ['team-search'] }),
  name: Type.String({ examples: ['Search team'] }),
  parent: Nullable(Type.String()),
  state: StringEnum(['active', 'frozen', 'closed']),
  created_at: Type.String(),
  frozen_at: Nullable(Type.String()),
  closed_at: Nullable(Type.String()),
  /** Limits on all keys of the account and of the accounts below it together. */
  limits: LimitSet,
  /** Expected spending per period or in total. More raises an alert; requests are not refused. */
  soft_budget: Nullable(Type.Object({ amount_usd: Usd, amount_nano: Nano, period: SoftPeriod })),
  /** Balance that raises an alert. Null applies the one of gateway.yaml. */
  low_balance: Nullable(Type.Object({ amount_usd: Usd, amount_nano: Nano })),
  credits_usd: Usd,
  credits_nano: Nano,
  spent_usd: Usd,
  spent_nano: Nano,
  held_usd: Usd,
  held_nano: Nano,
  balance_usd: Usd,
  balance_nano: Nano,
  /** The part of the balance that belongs to the accounts below. */
  allocated_usd: Usd,
  allocated_nano: Nano,
  available_usd: Usd,
  available_nano: Nano
})
export type Account = Static<typeof Account>

export const AccountList = ListOf(Account)

/** The display name of an account. */
export const AccountName = Type.String({ minLength: 1, maxLength: 200 })

/** Body of `POST /admin/accounts`. */
export const NewAccount = Closed({
  id: Id,
  name: Type.Optional(AccountName),
  parent: Type.Optional(Nullable(Id)),
  limits: Type.Optional(GivenLimits)
})
export type NewAccount = Static<typeof NewAccount>

/** Body of `PATCH /admin/accounts/:id`; absent fields keep their values. Only a frozen account can move. */
export const AccountChange = Closed({
  name: Type.Optional(AccountName),
  parent: Type.Optional(Nullable(Id)),
  limits: Type.Optional(GivenLimits),
  soft_budget: Type.Optional(Nullable(Closed({ ...GivenAmount, period: Type.Optional(SoftPeriod) }))),
  low_balance: Type.Optional(Nullable(Closed(GivenAmount)))
})
export type AccountChange = Static<typeof AccountChange>

/** The secret that signs the webhooks of an account's videos. */
export const WebhookSecret = Type.Object({
  object: Type.Literal('webhook_secret'),
  account: Type.String(),
  secret: Type.String({ examples: ['whsec_ZXhhbXBsZSBzZWNyZXQgb2YgYSB3ZWJob29r'], description: '`whsec_` and base64, as Standard Webhooks libraries expect it.' }),
  previous_secret: Nullable(Type.String({ description: 'Also signs, until `previous_until`.' })),
  previous_until: Nullable(Type.String())
})
export type WebhookSecret = Static<typeof WebhookSecret>

const Reason = Type.String({ minLength: 1, maxLength: 500 })

/** Body of `POST /admin/accounts/:id/freeze` and `…/unfreeze`. */
export const Freezing = Closed({ reason: Type.Optional(Reason) })
export type Freezing = Static<typeof Freezing>

/** Body of `POST /admin/accounts/:id/close`: where the balance goes, to the parent or out of the books. */
export const Closing = Closed({ take_out: Type.Optional(Type.Boolean()), reason: Type.Optional(Reason) })
export type Closing = Static<typeof Closing>

/** Query of `GET /admin/accounts`. */
export const AccountQuery = Closed({ ...Paging, search: Type.Optional(SearchFor('a name or id; the list is then ordered by it')) })

/** The id of a posting: repeating it is a no-op. Random by default. The ledger reserves `entry_…`. */
export const PostingId = Type.String({ pattern: '^(?!entry_)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' })

/** Headers of the requests that book money. */
export const PostingHeaders = Type.Object({ 'idempotency-key': Type.Optional(PostingId) })
export type PostingHeaders = Static<typeof PostingHeaders>

/** Body of `POST /admin/accounts/:id/deposits`. */
export const NewDeposit = Closed({ id: Type.Optional(PostingId), ...GivenAmount })
export type NewDeposit = Static<typeof NewDeposit>

/** Body of `POST /admin/accounts/:id/refunds`; without an amount, everything not yet refunded. */
export const NewRefund = Closed({ id: Type.Optional(PostingId), entry: Id, ...GivenAmount })
export type NewRefund = Static<typeof NewRefund>

/** Body of `POST /admin/accounts/:id/adjustments`; a negative amount takes credit away. */
export const NewAdjustment = Closed({
  id: Type.Optional(PostingId),
  ...GivenAmount,
  reason: Reason
})
export type NewAdjustment = Static<typeof NewAdjustment>

/** The amount to take, or `amount: "all"` for everything that is neither held nor allocated. */
const AmountToTake = { ...GivenAmount, amount: Type.Optional(Type.Literal('all')) }

/** Body of `POST /admin/accounts/:id/withdrawals`. */
export const NewWithdrawal = Closed({ id: Type.Optional(PostingId), ...AmountToTake, reason: Reason })
export type NewWithdrawal = Static<typeof NewWithdrawal>

/** Body of `POST /admin/accounts/:id/transfers`; to an account below, an allocation. */
export const NewTransfer = Closed({
  id: Type.Optional(PostingId), to: Id, ...AmountToTake, reason: Type.Optional(Reason)
})
export type NewTransfer = Static<typeof NewTransfer>
