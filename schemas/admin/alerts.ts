import { Type, type Static } from '@sinclair/typebox'
import { Closed, ListOf, Paging } from './shared.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

/** A webhook message: a budget reached a threshold, or a balance is low. */
export const Alert = Type.Object({
  object: Type.Literal('alert'),
  /** The `webhook-id` of all its attempts. */
  id: Type.String({ examples: ['msg_6f0c2d9a41b8e357'] }),
  created_at: Type.String(),
  type: Type.String({ examples: ['balance.low'] }),
  /** The text of the alert, as sent. */
  data: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    examples: [{
      account: 'team-search',
      account_name: 'Search team',
      balance_usd: 4.2,
      balance_nano: 4_200_000_000,
      limit_usd: 5,
      limit_nano: 5_000_000_000
    }]
  }),
  state: StringEnum(['waiting', 'delivered', 'given_up'], { examples: ['delivered'] }),
  attempts: Type.Integer({ examples: [1] }),
  next_attempt_at: Nullable(Type.String()),
  delivered_at: Nullable(Type.String()),
  /** Why the last attempt failed. */
  error: Nullable(Type.String())
})
export type Alert = Static<typeof Alert>

export const AlertList = ListOf(Alert)

/** Query of `GET /admin/alerts`. */
export const AlertQuery = Closed(Paging)
