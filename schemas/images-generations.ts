import { Type, type Static } from '@sinclair/typebox'

/** Body of `POST /v1/images/generations`. Source: OpenAI specification, `CreateImageRequest`. */
export const ImageGenerationRequest = Type.Object({
  model: Type.String({ minLength: 1 }),
  prompt: Type.String({ minLength: 1, maxLength: 32_000 })
})
export type ImageGenerationRequest = Static<typeof ImageGenerationRequest>
