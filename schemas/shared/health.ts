import { Type } from '@sinclair/typebox'
import { StringEnum } from './combinators.ts'

/** Answer of `GET /healthz`: the process lives. */
export const Health = Type.Object({ status: Type.Literal('ok') })

const readiness = {
  status: StringEnum(['ready', 'not_ready']),
  draining: Type.Boolean(),
  /** `away`: it does not answer or cannot be written, but has only just stopped; `gone`: for too long. */
  database: StringEnum(['ok', 'away', 'gone'])
}

/** Answer of `GET /readyz` when requests are welcome. */
export const ReadyReport = Type.Object(readiness, {
  examples: [{ status: 'ready', draining: false, database: 'ok' }]
})

/** Answer of `GET /readyz` when they are not. */
export const NotReadyReport = Type.Object(readiness, {
  examples: [{ status: 'not_ready', draining: true, database: 'ok' }]
})
