import { Type, type Static } from '@sinclair/typebox'
import { Nullable, StringEnum } from '../shared/combinators.ts'
import { ErrorDetails } from './error.ts'

/**
 * Body of `POST /v1/images/generations`. Source: OpenAI specification, `CreateImageRequest`; `model` is
 * required, because a gateway of many models has no default. Unlisted fields pass through to the provider,
 * except those that change the price of an image.
 */
export const ImageGenerationRequest = Type.Object({
  model: Type.String({ minLength: 1 }),
  prompt: Type.String({ minLength: 1, maxLength: 32_000 }),
  n: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 10 }))),
  size: Type.Optional(Nullable(Type.String({ description: '`<width>x<height>` in pixels, or `auto`.' }))),
  quality: Type.Optional(Nullable(StringEnum(['standard', 'hd', 'low', 'medium', 'high', 'xhigh', 'max', 'auto']))),
  /** If absent: `url`, and for models named `gpt-image-*` also `b64_json`, which OpenAI's clients read. */
  response_format: Type.Optional(Nullable(StringEnum(['url', 'b64_json']))),
  output_format: Type.Optional(Nullable(StringEnum(['png', 'jpeg', 'webp']))),
  output_compression: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 100 }))),
  background: Type.Optional(Nullable(StringEnum(['transparent', 'opaque', 'auto']))),
  moderation: Type.Optional(Nullable(StringEnum(['low', 'auto']))),
  style: Type.Optional(Nullable(StringEnum(['vivid', 'natural']))),
  stream: Type.Optional(Nullable(Type.Boolean())),
  partial_images: Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: 3 }))),
  user: Type.Optional(Type.String())
})
export type ImageGenerationRequest = Static<typeof ImageGenerationRequest>

const Image = Type.Object({
  url: Type.Optional(Type.String({ description: 'A signed URL: it needs no key and is valid until the image expires.' })),
  b64_json: Type.Optional(Type.String()),
  revised_prompt: Type.String({ description: 'The prompt as the provider rewrote it, else as received.' })
})

const ImageUsage = Type.Object({
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  input_tokens_details: Type.Object({ text_tokens: Type.Integer(), image_tokens: Type.Integer() })
})

/** Response of `POST /v1/images/generations`. Source: OpenAI specification, `ImagesResponse`. */
export const ImagesResponse = Type.Object({
  created: Type.Integer({ description: 'Unix seconds.' }),
  data: Type.Array(Image, { description: 'Empty only beside `error`.' }),
  background: Type.Optional(StringEnum(['transparent', 'opaque'])),
  output_format: Type.Optional(StringEnum(['png', 'webp', 'jpeg'])),
  size: Type.Optional(StringEnum(['1024x1024', '1024x1536', '1536x1024'])),
  quality: Type.Optional(StringEnum(['low', 'medium', 'high', 'xhigh', 'max'])),
  usage: Type.Optional(ImageUsage),
  error: Type.Optional(ErrorDetails)
}, {
  examples: [{
    created: 1_795_253_400,
    data: [{
      url: 'https://tollgate.example.com/v1/media/786a8f065ec1f7d30d58a9c178170d2a.png?exp=1795858240&sig=oH7iw15lTnNM',
      revised_prompt: 'A lighthouse at dusk'
    }],
    output_format: 'png',
    size: '1024x1024'
  }]
})
export type ImagesResponse = Static<typeof ImagesResponse>
