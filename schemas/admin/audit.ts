import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, ListOf, Paging } from './shared.ts'
import { Nullable } from '../shared/combinators.ts'

const Facts = (example: object | null) => Nullable(Type.Unsafe<Record<string, unknown>>({
  type: 'object', additionalProperties: true, examples: [example]
}))

/** A change by an operator, or by the gateway on its first start. It never changes. */
export const AuditEvent = Type.Object({
  object: Type.Literal('audit_event'),
  id: Type.String({ examples: ['audit_3'] }),
  at: Type.String(),
  /** `key:<id>`, `oidc:<subject>`, `cli:<user>`, `env` for TOLLGATE_ADMIN_KEY, or `gateway`. */
  actor: Type.String(),
  /** The label of the admin key at that time. */
  actor_label: Nullable(Type.String()),
  /** E.g. `key.update`. */
  action: Type.String({ examples: ['key.create'] }),
  /** E.g. `key:0123456789abcdef` or `account:team`. */
  target: Type.String({ examples: ['key:aa445d477d86f11f'] }),
  /** The previous values of the changed fields; null for something new. */
  before: Facts(null),
  after: Facts({ account: 'team-search', label: 'Production', role: 'user' })
})
export type AuditEvent = Static<typeof AuditEvent>

export const AuditEventList = ListOf(AuditEvent)

const Name = Type.String({ minLength: 1, maxLength: 256 })

/** Query of `GET /admin/audit`; from `from` on, before `to`. */
export const AuditQuery = Closed({
  ...Paging,
  actor: Type.Optional(Name),
  action: Type.Optional(Name),
  target: Type.Optional(Name),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant)
})
