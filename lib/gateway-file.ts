import type { Static } from '@sinclair/typebox'
import type { GatewayFile as Complete } from '../schemas/config/config.ts'

/** Keys with a default may be left out; tools/declarations.ts says exactly which. */
type Input<Value> = Value extends readonly unknown[]
  ? { [Index in keyof Value]: Input<Value[Index]> }
  : Value extends object ? { [Key in keyof Value]?: Input<Value[Key]> } : Value

/** The content of `gateway.yaml`. */
export type GatewayFile = Input<Static<typeof Complete>>
