import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'

/** One model on offer. `created` is in Unix seconds; further fields tell what it costs and can do. */
export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Number(),
  owned_by: Type.String()
}, { additionalProperties: true })
export type Model = Static<typeof Model>

/** Answer of `GET /v1/models`; never paged. */
export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })
export type ModelList = Static<typeof ModelList>
