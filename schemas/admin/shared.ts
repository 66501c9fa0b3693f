import { Type, type Static, type TObject, type TProperties, type TSchema } from '@sinclair/typebox'
import { ExactDecimal, Nullable } from '../shared/combinators.ts'

/** An object that takes no fields but its own: of operators, a typo must not pass. */
export function Closed<Fields extends TProperties> (properties: Fields): TObject<Fields> {
  return Type.Object(properties, { additionalProperties: false })
}

/** One page of a list; `next` is the `after` of the following one. */
export function ListOf<Item extends TSchema> (item: Item) {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    has_more: Type.Boolean(),
    next: Nullable(Type.String())
  })
}

/** ISO 8601: a time with its zone, or a date, which stands for its beginning in UTC. */
export const Instant = Type.String({ minLength: 10, maxLength: 40 })

/** A month of the books, in UTC, e.g. `2026-10`. */
export const MonthName = Type.String({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' })

/** What keys, accounts and entries are called by. */
export const Id = Type.String({ minLength: 1, maxLength: 128 })

/** Query strings hold text alone, so numbers are patterns of digits there. */
export const Paging = {
  limit: Type.Optional(Type.String({ pattern: '^([1-9][0-9]{0,2}|1000)$' })),
  after: Type.Optional(Type.String({ minLength: 1, maxLength: 2000 }))
}

/** Of sums: what something is not summed up by is null. The day is in UTC, e.g. `2026-11-21`. */
export const SummedBy = {
  key: Nullable(Type.String()),
  model: Nullable(Type.String()),
  day: Nullable(Type.String())
}

/** Query of sums: what they are made by and of, from `from` on and before `to`. */
export const SumQuery = {
  ...Paging,
  by: Type.Optional(Type.String({ pattern: '^(key|model|day)(,(key|model|day)){0,2}$' })),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
  account: Type.Optional(Id),
  key: Type.Optional(Id),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512 }))
}

/** The beginning of a text to find. */
export const SearchFor = (what: string) => Type.String({
  minLength: 1, maxLength: 200, pattern: '^[^\\u0000]*$', description: `The beginning of ${what}; A–Z and a–z are alike.`
})

/** The path of one thing. */
export const ById = Type.Object({ id: Id })
export type ById = Static<typeof ById>

/** What may be done in a minute and at the same time; null: no limit. */
export const LimitSet = Type.Object({
  requests_per_minute: Nullable(Type.Integer({ examples: [600] })),
  tokens_per_minute: Nullable(Type.Integer({ examples: [200_000] })),
  concurrent_requests: Nullable(Type.Integer())
})
export type LimitSet = Static<typeof LimitSet>

const GivenLimit = Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })))

/** Limits in a request: null takes one away, what is absent stays. */
export const GivenLimits = Closed({
  requests_per_minute: GivenLimit,
  tokens_per_minute: GivenLimit,
  concurrent_requests: GivenLimit
})
export type GivenLimits = Static<typeof GivenLimits>

/** An answer in US dollars, exact to the nano-dollar; `Nano` is the same as an integer. */
export const Usd = ExactDecimal()
export const Nano = Type.Integer()

/** US dollars. A pattern would refuse wrong text without saying what to write, so `nanoFromUsd` checks it. */
const GivenUsd = Type.Unsafe<number | string>({
  type: ['number', 'string'],
  description: 'US dollars with at most 9 decimals. As text every amount is exact: `12.50` or `1,250.00`.',
  examples: [12.5, '9007199.254740991']
})

/** An amount in a request: one of the two fields. */
export const GivenAmount = {
  amount_usd: Type.Optional(GivenUsd),
  amount_nano: Type.Optional(Type.Integer())
}
