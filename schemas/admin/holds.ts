import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, ListOf, Nano, Paging, Usd } from './shared.ts'
import { Nullable, StringEnum } from '../shared/combinators.ts'

/** Money set aside. The holds of an account add up to its `held` amount. */
export const AdminHold = Type.Object({
  object: Type.Literal('hold'),
  id: Type.String({ examples: ['video_8c6eeccec17b47a800000005'] }),
  account: Type.String({ examples: ['team-search'] }),
  /** `requests`: one hold for all running requests of a node; each is logged when it ends. */
  kind: StringEnum(['requests', 'job']),
  amount_usd: Usd,
  amount_nano: Nano,
  created_at: Type.String(),
  expires_at: Nullable(Type.String({ description: 'The latest time of its release. Null: it is released with its job or node.' })),
  node: Nullable(Type.String({ description: 'The node that holds it.' })),
  node_seen_at: Nullable(Type.String({ description: 'The last heartbeat of that node; other nodes release the holds of a dead node.' })),
  job: Nullable(Type.String({ description: 'The job that the hold pays for.' })),
  key: Nullable(Type.String({ description: 'The key of that job.' })),
  model: Nullable(Type.String({ description: 'The model of that job.' }))
})
export type AdminHold = Static<typeof AdminHold>

export const AdminHoldList = ListOf(AdminHold)

/** Query of `GET /admin/holds`. */
export const HoldQuery = Closed({ ...Paging, account: Id })
