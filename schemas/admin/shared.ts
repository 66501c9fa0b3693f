import { Type, type Static, type TObject, type TProperties, type TSchema } from '@sinclair/typebox'
import { ExactDecimal, Nullable } from '../shared/combinators.ts'

/** An object that rejects unknown fields, so that an operator's typo fails. */
export function Closed<Fields extends TProperties> (properties: Fields): TObject<Fields> {
  return Type.Object(properties, { additionalProperties: false })
}

/** One page of a list; `next` is the `after` of the next page. */
export function ListOf<Item extends TSchema> (item: Item) {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next: Nullable(Type.String())
  })
}

/** ISO 8601: a time with its zone, or a date, which means midnight UTC. */
export const Instant = Type.String({ minLength: 10, maxLength: 40 })

/** A month of the books, in UTC, e.g. `2026-10`. */
export const MonthName = Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' })

/** The id of a key, account or entry. */
export const Id = Type.String({ minLength: 1, maxLength: 128 })

/** Query values are strings, so numbers are patterns of digits. */
export const Paging = {
  limit: Type.Optional(Type.String({ pattern: '^([1-9][0-9]{0,2}|1000)$' })),
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 2000 }))
}

/** The group of a sum; dimensions that are not grouped by are null. The day is in UTC, e.g. `2026-11-21`. */
export const SummedBy = {
  key: Nullable(Type.String()),
  model: Nullable(Type.String()),
  day: Nullable(Type.String())
}

/** Query of sums: their dimensions and filters, from `from` (inclusive) to `to` (exclusive). */
export const SumQuery = {
  ...Paging,
  by: Type.Optional(Type.String({ pattern: '^(key|model|day)(,(key|model|day)){0,2}$' })),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  account: Type.Optional(Id),
  key: Type.Optional(Id),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512 }))
}

/** A search by prefix. */
export const SearchFor = (what: string) => Type.String({
  minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$', description: `Prefix of ${what}; case is ignored for A–Z.`
})

/** Path parameters of one resource. */
export const ById = Type.Object({ id: Id })
export type ById = Static<typeof ById>

/** Limits per minute and at once; null for no limit. */
export const LimitSet = Type.Object({
  requests_per_minute: Nullable(Type.Integer({ examples: [600] })),
  tokens_per_minute: Nullable(Type.Integer({ examples: [200_000] })),
  concurrent_requests: Nullable(Type.Integer())
})
export type LimitSet = Static<typeof LimitSet>

const GivenLimit = Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })))

/** Limits in a request: null removes a limit, an absent one keeps its value. */
export const GivenLimits = Closed({
  requests_per_minute: GivenLimit,
  tokens_per_minute: GivenLimit,
  concurrent_requests: GivenLimit
})
export type GivenLimits = Static<typeof GivenLimits>

/** An amount in a response in US dollars, exact to the nano-dollar; `Nano` is the same as an integer. */
export const Usd = ExactDecimal()
export const Nano = Type.Integer()

/** US dollars. A pattern would refuse wrong text without saying what to write, so `nanoFromUsd` checks it. */
const GivenUsd = Type.Unsafe<number | string>({
  type: ['number', 'string'],
  description: 'US dollars with at most 9 decimals. Strings are always exact: `12.50` or `1,250.00`.',
  examples: [12.5, '9007199.254740991']
})

/** An amount in a request: one of the two fields. */
export const GivenAmount = {
  amount_usd: Type.Optional(GivenUsd),
  amount_nano: Type.Optional(Type.Integer())
}
