import { Type, type Static } from '@sinclair/typebox'
import { Nano, Usd } from './shared.ts'
import { StringEnum } from '../shared/combinators.ts'
import { breakerStates } from './providers.ts'

/** One event of `GET /admin/live`. Figures are those of all nodes, except `node` and `providers`. */
export const LiveFigures = Type.Object({
  object: Type.Literal('live'),
  at: Type.String(),
  requests_per_second: Type.Number({ description: 'Requests that ended in the last minute.' }),
  error_rate: Type.Number({ description: 'The failed ones among them, from 0 to 1.' }),
  waiting_clients: Type.Integer({ description: 'Clients that wait for videos or images.' }),
  running_jobs: Type.Integer(),
  spent_today_usd: Usd,
  spent_today_nano: Nano,
  /** What the node that answers has under way. */
  node: Type.Object({
    requests: Type.Integer(),
    streams: Type.Integer(),
    polls: Type.Integer({ description: 'Responses that are kept open until a video is done.' })
  }),
  /** The worst circuit breaker of each provider, as that node sees it. */
  providers: Type.Array(Type.Object({ id: Type.String(), state: StringEnum([...breakerStates, 'unused']) }))
})
export type LiveFigures = Static<typeof LiveFigures>
