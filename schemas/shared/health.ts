import { Type } from '@sinclair/typebox'
import { StringEnum } from './combinators.ts'

/** Response of `GET /healthz`: the process is alive. */
export const Health = Type.Object({ status: Type.Literal('ok') })

const readiness = {
  status: StringEnum(['ready', 'not_ready']),
  draining: Type.Boolean(),
  /** `away`: the database has just stopped responding or accepting writes; `gone`: for too long. */
  database: StringEnum(['ok', 'away', 'gone'])
}

/** Response of `GET /readyz` while the node accepts requests. */
export const ReadyReport = Type.Object(readiness, {
  examples: [{ status: 'ready', draining: false, database: 'ok' }]
})

/** Response of `GET /readyz` while it does not. */
export const NotReadyReport = Type.Object(readiness, {
  examples: [{ status: 'not_ready', draining: true, database: 'ok' }]
})
