import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, ListOf, Nano, Paging, Usd } from './shared.ts'
import { MapOf, Nullable, StringEnum } from '../shared/combinators.ts'

export const entryKinds = ['deposit', 'usage', 'refund', 'adjust', 'suspense'] as const
export const EntryKind = StringEnum(entryKinds)

/** One line of the books: an amount that moved from `debit` to `credit`. It never changes. */
export const Entry = Type.Object({
  object: Type.Literal('entry'),
  id: Type.String(),
  at: Type.String(),
  kind: EntryKind,
  debit: Type.String(),
  credit: Type.String(),
  amount_usd: Usd,
  amount_nano: Nano,
  key: Nullable(Type.String()),
  model: Nullable(Type.String()),
  /** The request or job that was charged. */
  ref: Nullable(Type.String()),
  /** Tokens, images or seconds. */
  usage: Nullable(MapOf(Type.Number())),
  estimated: Type.Boolean(),
  /** The entry that a refund takes back. */
  reverses: Nullable(Type.String()),
  reason: Nullable(Type.String())
})
export type Entry = Static<typeof Entry>

export const EntryList = ListOf(Entry)

/** Query of `GET /admin/entries`; from `from` on, before `to`. */
export const EntryQuery = Closed({
  ...Paging,
  account: Type.Optional(Id),
  kind: Type.Optional(EntryKind),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant)
})
