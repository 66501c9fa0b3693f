import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, MonthName, Nano, Paging, Usd } from './shared.ts'
import { MapOf, Nullable, NullableDecimal, StringEnum } from '../shared/combinators.ts'

export const entryKinds = [
  'deposit', 'withdraw', 'transfer', 'adjust', 'usage', 'refund', 'suspense'
] as const
export const EntryKind = StringEnum(entryKinds)

/** One line of the books: an amount that moved from `debit` to `credit`. It never changes. */
export const Entry = Type.Object({
  object: Type.Literal('entry'),
  id: Type.String(),
  at: Type.String(),
  /** The month of `at` in UTC. */
  month: Type.String(),
  kind: EntryKind,
  debit: Type.String(),
  credit: Type.String(),
  amount_usd: Usd,
  amount_nano: Nano,
  change_usd: NullableDecimal({ description: 'Signed change of the listed account\'s balance; null in a list of all accounts.' }),
  change_nano: Nullable(Nano),
  key: Nullable(Type.String()),
  model: Nullable(Type.String()),
  provider: Nullable(Type.String()),
  /** The request or job that was charged. */
  ref: Nullable(Type.String()),
  /** Tokens, images or seconds. */
  usage: Nullable(MapOf(Type.Number())),
  tags: Nullable(MapOf(Type.String())),
  /** The operator's cost, by `cost` in `gateway.yaml`; null if unknown. */
  provider_cost_nano: Nullable(Nano),
  /** The cost that the provider reported, or null. */
  reported_cost_nano: Nullable(Nano),
  estimated: Type.Boolean(),
  /** The refunded entry. */
  reverses: Nullable(Type.String()),
  reason: Nullable(Type.String()),
  /** The actor: `key:<id>`, `cli:<user>`, `env` or `gateway`; null if unknown. */
  actor: Nullable(Type.String())
}, {
  examples: [{
    object: 'entry',
    id: 'invoice-2026-117',
    at: '2026-11-21T09:30:00.000Z',
    month: '2026-11',
    kind: 'deposit',
    debit: 'funding',
    credit: 'team-search',
    amount_usd: 25,
    amount_nano: 25_000_000_000,
    change_usd: 25,
    change_nano: 25_000_000_000,
    key: null,
    model: null,
    provider: null,
    ref: null,
    usage: null,
    tags: null,
    provider_cost_nano: null,
    reported_cost_nano: null,
    estimated: false,
    reverses: null,
    reason: null,
    actor: 'key:5d2c8f0e41b7a963'
  }]
})
export type Entry = Static<typeof Entry>

export const EntryList = ListOf(Entry)

/** Query of `GET /admin/entries`; from `from` on, before `to`. CSV has no pages but every row. */
export const EntryQuery = Closed({
  ...Paging,
  account: Type.Optional(Id),
  kind: Type.Optional(EntryKind),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  month: Type.Optional(MonthName),
  format: Type.Optional(StringEnum(['json', 'csv']))
})
