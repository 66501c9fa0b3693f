import { Type, type Static } from '@sinclair/typebox'
import { Nullable } from '../shared/combinators.ts'

const usd = (unit: string) => Type.Optional(Type.String({ description: `USD per ${unit}, an exact decimal number.` }))

const perToken = (what: string) => Type.Optional(Type.String({
  description: `USD per ${what}, under OpenRouter's name; \`-1\`: not known in advance, or no price.`
}))

const Pricing = Type.Object({
  prompt: perToken('prompt token'),
  completion: perToken('completion token'),
  request: perToken('request'),
  input_cache_read: perToken('prompt token read from the cache'),
  input_cache_write: perToken('prompt token written to the cache'),
  web_search: perToken('web search'),
  input: usd('1 million prompt tokens'),
  output: usd('1 million completion tokens'),
  cache_read: usd('1 million prompt tokens read from the cache; absent: as input'),
  cache_write: usd('1 million prompt tokens written to the cache; absent: as input'),
  cache_write_1h: usd('1 million prompt tokens put into the cache for an hour'),
  image: usd('image'),
  second: usd('second of video'),
  search: usd('web search; absent: requests that search are rejected'),
  service_tiers: Type.Optional(Type.Array(Type.Object({
    name: Type.String(),
    input: Type.String(),
    output: Type.String(),
    cache_read: usd('1 million prompt tokens read from the cache'),
    cache_write: usd('1 million prompt tokens written to the cache'),
    cache_write_1h: usd('1 million prompt tokens put into the cache for an hour')
  }), { description: 'Prices of requests with this `service_tier`; other tiers are rejected.' }))
}, { description: 'Prices under the names and units of `price` in gateway.yaml; absent ones do not exist.' })

const Modality = Type.Union(['text', 'image', 'audio', 'video', 'file'].map(name => Type.Literal(name)))

const Images = Type.Object({
  sizes: Type.Optional(Type.Array(Type.String())),
  size_range: Type.Optional(Type.Object({
    min: Type.Integer(),
    max: Type.Integer(),
    multiple_of: Type.Integer(),
    max_ratio: Type.Number(),
    max_pixels: Type.Integer()
  })),
  default_size: Type.Optional(Type.String()),
  qualities: Type.Optional(Type.Array(Type.String())),
  prices: Type.Optional(Type.Array(Type.Object({
    size: Type.Optional(Type.String()),
    quality: Type.Optional(Type.String()),
    image: Type.String(),
    further_megapixel: Type.Optional(Type.String())
  })))
}, { description: 'Capabilities of an image model, under the names of `images` in gateway.yaml.' })

const Video = Type.Object({
  seconds: Type.Optional(Type.Array(Type.Number())),
  default_seconds: Type.Optional(Type.Number()),
  max_seconds: Type.Optional(Type.Number()),
  sizes: Type.Optional(Type.Array(Type.String())),
  default_size: Type.Optional(Type.String()),
  aspect_ratios: Type.Optional(Type.Array(Type.String())),
  audio: Type.Optional(Type.Boolean()),
  default_audio: Type.Optional(Type.Boolean()),
  first_frame: Type.Optional(Type.Boolean()),
  last_frame: Type.Optional(Type.Boolean()),
  prices: Type.Optional(Type.Array(Type.Object({
    size: Type.Optional(Type.String()),
    audio: Type.Optional(Type.Boolean()),
    second: Type.String()
  })))
}, { description: 'Capabilities of a video model, under the names of `video` in gateway.yaml.' })

/** Fields of OpenRouter's records, which many clients read. Source: @openrouter/sdk 1.3.19, model.d.ts. */
const clientFields = {
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  canonical_slug: Type.Optional(Type.String()),
  context_length: Type.Optional(Nullable(Type.Integer({ description: 'The same as `context_window`.' }))),
  max_model_len: Type.Optional(Type.Integer({ description: 'The same, as vLLM names it.' })),
  max_input_tokens: Type.Optional(Type.Integer({ description: 'The same, as LiteLLM names it.' })),
  max_tokens: Type.Optional(Type.Integer({ description: 'The same as `max_output_tokens`.' })),
  top_provider: Type.Optional(Type.Object({
    context_length: Nullable(Type.Integer()),
    max_completion_tokens: Nullable(Type.Integer()),
    is_moderated: Type.Boolean()
  })),
  architecture: Type.Optional(Type.Object({
    modality: Type.String(),
    input_modalities: Type.Array(Type.String()),
    output_modalities: Type.Array(Type.String()),
    tokenizer: Type.String(),
    instruct_type: Type.Null()
  })),
  supported_parameters: Type.Optional(Type.Array(Type.String())),
  default_parameters: Type.Optional(Type.Null()),
  per_request_limits: Type.Optional(Type.Null()),
  supported_voices: Type.Optional(Type.Null()),
  knowledge_cutoff: Type.Optional(Nullable(Type.String())),
  links: Type.Optional(Type.Object({ details: Type.String() }))
}

/**
 * One model: OpenAI's four fields, `created` in Unix seconds, and extensions of Tollgate, each absent if
 * unknown.
 */
export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
  kind: Type.Union(['chat', 'image', 'video'].map(name => Type.Literal(name)), { description: 'The kind of output.' }),
  context_window: Type.Optional(Type.Integer({ description: 'Most tokens of prompt and completion together.' })),
  max_output_tokens: Type.Optional(Type.Integer({ description: 'Most tokens of one completion.' })),
  pricing: Type.Optional(Pricing),
  pricing_basis: Type.Optional(Type.Literal('family', {
    description: 'The model has no price; it is sold at the dearest price of its family.'
  })),
  modalities: Type.Optional(Type.Object({ input: Type.Array(Modality), output: Type.Array(Modality) })),
  capabilities: Type.Optional(Type.Object({
    tools: Type.Boolean(),
    json_schema: Type.Boolean(),
    reasoning: Type.Boolean(),
    streaming: Type.Boolean(),
    temperature: Type.Optional(Type.Boolean())
  })),
  images: Type.Optional(Images),
  video: Type.Optional(Video),
  knowledge: Type.Optional(Type.String({ description: 'Knowledge cutoff, e.g. `2024-04`.' })),
  deprecated: Type.Optional(Type.Boolean({ description: 'True if the provider will retire the model.' })),
  ...clientFields
}, {
  additionalProperties: true,
  examples: [{
    id: 'sandbox-chat',
    object: 'model',
    created: 1_767_225_600,
    owned_by: 'sandbox',
    kind: 'chat',
    context_window: 128_000,
    max_output_tokens: 4096,
    pricing: { input: '0.1', output: '0.4' },
    modalities: { input: ['text', 'image'], output: ['text'] },
    capabilities: { tools: true, json_schema: true, reasoning: false, streaming: true }
  }]
})
export type Model = Static<typeof Model>

/** Response of `GET /v1/models`; never paged. */
export const ModelList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Model),
  total_count: Type.Optional(Type.Integer()),
  links: Type.Optional(Type.Object({ next: Type.Null() }))
})
export type ModelList = Static<typeof ModelList>
