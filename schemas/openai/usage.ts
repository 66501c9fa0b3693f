import { Type, type Static } from '@sinclair/typebox'

const Tokens = Type.Number()

/** Tokens of one call. `prompt_tokens` includes cached ones, `completion_tokens` includes reasoning. */
export const CompletionUsage = Type.Object({
  cost: Type.Optional(Type.Number({ description: 'The charge, in USD.' })),
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  total_tokens: Tokens,
  prompt_tokens_details: Type.Optional(Type.Object({
    cached_tokens: Type.Optional(Tokens),
    cache_write_tokens: Type.Optional(Tokens),
    // Not OpenAI's: the part of `cache_write_tokens` that is cached for an hour.
    cache_write_1h_tokens: Type.Optional(Tokens),
    audio_tokens: Type.Optional(Tokens),
    image_tokens: Type.Optional(Tokens),
    text_tokens: Type.Optional(Tokens)
  }, { additionalProperties: true })),
  completion_tokens_details: Type.Optional(Type.Object({
    reasoning_tokens: Type.Optional(Tokens),
    accepted_prediction_tokens: Type.Optional(Tokens),
    rejected_prediction_tokens: Type.Optional(Tokens),
    audio_tokens: Type.Optional(Tokens),
    text_tokens: Type.Optional(Tokens)
  }, { additionalProperties: true }))
}, { additionalProperties: true })
export type CompletionUsage = Static<typeof CompletionUsage>
