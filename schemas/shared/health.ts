import { Type } from '@sinclair/typebox'
import { StringEnum } from './combinators.ts'

/** Answer of `GET /healthz`: the process lives. */
export const Health = Type.Object({ status: Type.Literal('ok') })

/** Answer of `GET /readyz`: 200 when requests are welcome, else 503. */
export const ReadinessReport = Type.Object({
  status: StringEnum(['ready', 'not_ready']),
  draining: Type.Boolean(),
  /** `away`: it does not answer, but has only just stopped doing so; `gone`: for too long. */
  database: StringEnum(['ok', 'away', 'gone'])
})
