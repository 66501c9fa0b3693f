import { Type } from '@sinclair/typebox'
import { MapOf, Nullable, StringOrItems } from '../shared/combinators.ts'

const Penalty = Nullable(Type.Number({ minimum: -2, maximum: 2 }))

const ModelId = Type.String({ minLength: 1, maxLength: 512 })

const StreamOptions = Type.Object({
  include_usage: Type.Optional(Type.Boolean()),
  include_obfuscation: Type.Optional(Type.Boolean())
})

/** An extension of Tollgate: how `auto` chooses the model of this request. */
const RoutingOptions = Type.Object({
  cost_quality: Type.Optional(Nullable(Type.Number({
    minimum: 0,
    maximum: 10,
    description: 'Weight between cost and quality: 0 the lowest cost, 5 as `auto`, 10 the best quality.'
  }))),
  models: Type.Optional(Nullable(Type.Array(ModelId, {
    minItems: 1,
    maxItems: 100,
    description: 'The only models to choose from; `*` stands for any text, as in `openai/*`.'
  })))
}, { additionalProperties: false, description: 'Only with `model: auto` and other policies.' })

/** Request fields that chat and text completions share; bounds and nulls of OpenAI specification 2.3.0. */
export const samplingFields = {
  stream: Type.Optional(Nullable(Type.Boolean())),
  stream_options: Type.Optional(Nullable(StreamOptions)),
  temperature: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 2 }))),
  top_p: Type.Optional(Nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  n: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 128 }))),
  stop: Type.Optional(Nullable(StringOrItems(Type.String(), { maxItems: 4 }))),
  frequency_penalty: Type.Optional(Penalty),
  presence_penalty: Type.Optional(Penalty),
  logit_bias: Type.Optional(Nullable(MapOf(Type.Integer({ minimum: -100, maximum: 100 })))),
  // The bounds of a 64-bit integer, as near as a double comes.
  seed: Type.Optional(Nullable(Type.Integer({ minimum: -(2 ** 63), maximum: 2 ** 63 }))),
  user: Type.Optional(Type.String()),
  // An extension of Tollgate: models to try, in this order, if the requested one fails.
  fallbacks: Type.Optional(Nullable(Type.Array(ModelId, { maxItems: 8 }))),
  routing: Type.Optional(Nullable(RoutingOptions))
}
