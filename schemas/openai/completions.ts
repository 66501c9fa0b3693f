import { Type, type Static } from '@sinclair/typebox'
import { MapOf, Nullable, StringEnum } from '../shared/combinators.ts'
import { samplingFields } from './sampling.ts'
import { CompletionUsage } from './usage.ts'

/** A text, texts, a list of tokens or lists of tokens. Mixtures are rejected after validation. */
const Prompt = Type.Unsafe<string | string[] | number[] | number[][] | null>({
  type: ['string', 'array', 'null'],
  items: { type: ['string', 'integer', 'array'], minItems: 1, items: { type: 'integer' } }
})

/** Body of `POST /v1/completions`; fields not listed pass through to the provider. */
export const CompletionRequest = Type.Object({
  model: Type.String({ minLength: 1 }),
  prompt: Prompt,
  ...samplingFields,
  suffix: Type.Optional(Nullable(Type.String())),
  max_tokens: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  logprobs: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 5 }))),
  best_of: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 20 }))),
  echo: Type.Optional(Nullable(Type.Boolean()))
})
export type CompletionRequest = Static<typeof CompletionRequest>

const open = { additionalProperties: true }

export const CompletionLogprobs = Type.Object({
  tokens: Type.Optional(Type.Array(Type.String())),
  token_logprobs: Type.Optional(Type.Array(Nullable(Type.Number()))),
  top_logprobs: Type.Optional(Nullable(Type.Array(Nullable(MapOf(Type.Number()))))),
  text_offset: Type.Optional(Type.Array(Type.Number()))
}, open)
export type CompletionLogprobs = Static<typeof CompletionLogprobs>

/**
 * Response of `POST /v1/completions`, or one event of its stream, where `finish_reason` is null until the
 * last text and `usage` until the last event. `created` is in Unix seconds.
 */
export const Completion = Type.Object({
  id: Type.String(),
  object: Type.Literal('text_completion'),
  created: Type.Number(),
  model: Type.String(),
  choices: Type.Array(Type.Object({
    text: Type.String(),
    index: Type.Number(),
    logprobs: Type.Optional(Nullable(CompletionLogprobs)),
    finish_reason: Nullable(StringEnum(['stop', 'length', 'content_filter']))
  }, open)),
  usage: Type.Optional(Nullable(CompletionUsage)),
  system_fingerprint: Type.Optional(Nullable(Type.String()))
}, {
  ...open,
  examples: [{
    id: 'cmpl-00fd1ad468c84ff89b8c4eb32c17f7b1',
    object: 'text_completion',
    created: 1_795_253_400,
    model: 'sandbox-chat',
    choices: [{ text: ', a lighthouse stood on a cliff.', index: 0, finish_reason: 'stop', logprobs: null }],
    usage: { prompt_tokens: 4, completion_tokens: 8, total_tokens: 12, cost: 0.0000036 }
  }]
})
export type Completion = Static<typeof Completion>
