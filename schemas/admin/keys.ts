import { Type, type Static } from '@sinclair/typebox'
import { Closed, GivenAmount, GivenLimits, Id, Instant, LimitSet, ListOf, Nano, Paging, SearchFor, Usd } from './shared.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

/** The period after which a budget is full again, in UTC. */
export const budgetPeriods = ['day', 'week', 'month'] as const
const Period = Nullable(StringEnum(budgetPeriods))

export const adminRoles = ['owner', 'operator', 'finance', 'viewer'] as const
export const permissions = ['read', 'operate', 'money', 'own', 'account'] as const

/** A key of a user, or the role of an admin key. */
export const keyRoles = ['user', ...adminRoles] as const
const Role = StringEnum(keyRoles)

/** The holder of a key and the permissions of its role. */
export const Me = Type.Object({
  object: Type.Literal('operator'),
  /** `key:<id>`, or `env` for TOLLGATE_ADMIN_KEY: the name in the audit log. */
  actor: Type.String(),
  label: Nullable(Type.String({ examples: ['Dana'] })),
  role: StringEnum(keyRoles, { examples: ['operator'] }),
  /** The account that a user's key reads; null for all accounts. */
  account: Nullable(Type.String({ examples: [null] })),
  permissions: Type.Array(StringEnum(permissions))
})

/** A key's budget and how much of it is spent. Without a period it never starts over. */
const Budget = Type.Object({
  amount_usd: Usd,
  amount_nano: Nano,
  period: Period,
  spent_usd: Usd,
  spent_nano: Nano
})

/** A key without its secret. */
const properties = {
  object: Type.Literal('key'),
  id: Type.String({ examples: ['aa445d477d86f11f'] }),
  role: Role,
  account: Type.String(),
  label: Type.String(),
  /** Globs of the models that it may use; null for all models. */
  models: Nullable(Type.Array(Type.String())),
  /** Globs of the regions where its requests may be processed; null for all regions. */
  regions: Nullable(Type.Array(Type.String(), { examples: [null] })),
  budget: Nullable(Budget),
  limits: LimitSet,
  created_at: Type.String(),
  expires_at: Nullable(Type.String({ examples: [null] })),
  revoked_at: Nullable(Type.String()),
  last_used_at: Nullable(Type.String({ examples: ['2026-11-21T09:30:00.000Z'] })),
  /** When the secret before the last rotation expires. */
  previous_until: Nullable(Type.String())
}

export const Key = Type.Object(properties)
export type Key = Static<typeof Key>

/** A key with its secret, which is shown only once. */
export const KeyWithSecret = Type.Object({ ...properties, key: Type.String({ examples: ['sk-tg-…'] }) })
export type KeyWithSecret = Static<typeof KeyWithSecret>

export const KeyList = ListOf(Key)

const Label = Type.String({ maxLength: 200 })
const Glob = Type.String({ minLength: 1, maxLength: 256 })
const Globs = Nullable(Type.Array(Glob, { minItems: 1, maxItems: 100 }))
const GivenBudget = Nullable(Closed({ ...GivenAmount, period: Type.Optional(Period) }))

const settings = {
  label: Type.Optional(Label),
  models: Type.Optional(Globs),
  regions: Type.Optional(Globs),
  budget: Type.Optional(GivenBudget),
  expires_at: Type.Optional(Nullable(Instant)),
  limits: Type.Optional(GivenLimits)
}

/** Body of `POST /admin/keys`. */
export const NewKey = Closed({ account: Id, role: Type.Optional(Role), ...settings })
export type NewKey = Static<typeof NewKey>

/** Body of `PATCH /admin/keys/:id`; absent fields keep their values. */
export const KeyChange = Closed(settings)
export type KeyChange = Static<typeof KeyChange>

/** Body of `POST /admin/keys/:id/rotate`: how long the old secret keeps working; a day by default. */
export const Rotation = Closed({
  grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 30 * 86_400 }))
})
export type Rotation = Static<typeof Rotation>

/** Query of `GET /admin/keys`. */
export const KeyQuery = Closed({
  ...Paging,
  account: Type.Optional(Id),
  search: Type.Optional(SearchFor('a label or id; the list is then ordered by it'))
})
