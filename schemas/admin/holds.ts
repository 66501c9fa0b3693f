import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, ListOf, Nano, Paging, Usd } from './shared.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

/** Money of an account that is set aside. Of all holds of an account, the amounts make what it has held. */
export const AdminHold = Type.Object({
  object: Type.Literal('hold'),
  id: Type.String({ examples: ['video_8c6eeccec17b47a800000005'] }),
  account: Type.String({ examples: ['team-search'] }),
  /** `requests`: for all requests under way on a node together; each is logged when it ends. */
  kind: StringEnum(['requests', 'job']),
  amount_usd: Usd,
  amount_nano: Nano,
  created_at: Type.String(),
  expires_at: Nullable(Type.String({ description: 'When it is released at the latest; null: with its job or node.' })),
  node: Nullable(Type.String({ description: 'The node that holds it.' })),
  node_seen_at: Nullable(Type.String({ description: 'The last heartbeat of that node; others release what a dead node held.' })),
  job: Nullable(Type.String({ description: 'The job that it pays for.' })),
  key: Nullable(Type.String({ description: 'The key of that job.' })),
  model: Nullable(Type.String({ description: 'The model of that job.' }))
})
export type AdminHold = Static<typeof AdminHold>

export const AdminHoldList = ListOf(AdminHold)

/** Query of `GET /admin/holds`. */
export const HoldQuery = Closed({ ...Paging, account: Id })
