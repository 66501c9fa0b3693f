import { Type, type Static } from '@sinclair/typebox'
import { Nano, Usd } from './shared.ts'
import { StringEnum } from '../shared/combinators.ts'
import { breakerStates } from './providers.ts'

/** One event of `GET /admin/live`. Figures are those of all nodes, except `node` and `providers`. */
export const LiveFigures = Type.Object({
  object: Type.Literal('live'),
  at: Type.String(),
  requests_per_second: Type.Number({ description: 'Average over the requests that ended in the last minute.' }),
  error_rate: Type.Number({ description: 'Share of those requests that failed, from 0 to 1.' }),
  waiting_clients: Type.Integer({ description: 'Clients that wait for videos or images.' }),
  running_jobs: Type.Integer(),
  spent_today_usd: Usd,
  spent_today_nano: Nano,
  /** Current work of the node that sends the events. */
  node: Type.Object({
    requests: Type.Integer(),
    streams: Type.Integer(),
    polls: Type.Integer({ description: 'Responses kept open until a video is ready.' })
  }),
  /** The worst circuit breaker of each provider, as that node sees it. */
  providers: Type.Array(Type.Object({ id: Type.String(), state: StringEnum([...breakerStates, 'unused']) }))
})
export type LiveFigures = Static<typeof LiveFigures>
