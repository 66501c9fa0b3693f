import { Type, type Static } from '@sinclair/typebox'
import { count, dayMs, flag, oneOf, share, strict, usd, usdPerMillion, type Known, type Parsed } from './fields.ts'
import { ImagesEntry } from './images.ts'
import { VideoEntry } from './video.ts'

const upstreamModel = "The provider's name for the model. Default: the id of the model."

const tokenPrices = {
  cache_read: Type.Optional(usdPerMillion('prompt tokens read from the prompt cache')),
  cache_write: Type.Optional(usdPerMillion('prompt tokens written to the prompt cache')),
  cache_write_1h: Type.Optional(usdPerMillion(
    'prompt tokens written to a cache for an hour. Default: the greater of `cache_write` and twice `input`'))
}

const TierEntry = Type.Object({
  above: count('Applies to prompts with more tokens than this.', 1, 1_000_000_000),
  input: usdPerMillion('prompt tokens'),
  output: usdPerMillion('completion tokens'),
  ...tokenPrices
}, { ...strict, description: 'Prices of all tokens of a request with a long prompt.' })

const ServiceTierEntry = Type.Object({
  name: Type.String({ pattern: '^[a-z][a-z_]{0,31}$', description: 'The value of `service_tier`.', examples: ['flex'] }),
  input: usdPerMillion('prompt tokens'),
  output: usdPerMillion('completion tokens'),
  ...tokenPrices,
  tiers: Type.Optional(Type.Array(TierEntry, { maxItems: 16, description: 'Prices of long prompts at this tier.' }))
}, { ...strict, description: 'Prices of requests with this `service_tier`.' })

/** `price` of a model or a deployment. */
export const PriceEntry = Type.Object({
  input: Type.Optional(usdPerMillion('prompt tokens')),
  output: Type.Optional(usdPerMillion('completion tokens')),
  ...tokenPrices,
  audio_input: Type.Optional(usdPerMillion('audio tokens of the prompt. Default: `input`')),
  audio_output: Type.Optional(usdPerMillion(
    'audio tokens of the completion. Default: audio is refused, unless the model is free')),
  tiers: Type.Optional(Type.Array(TierEntry, {
    maxItems: 16,
    description: "Prices of long prompts. Default: the catalogue's, unless `input` or `output` is set here."
  })),
  service_tiers: Type.Optional(Type.Array(ServiceTierEntry, {
    maxItems: 8,
    description: 'Prices of service tiers; tiers without a price are refused. `fast` is `priority`.'
  })),
  search: Type.Optional(usd('web search of the provider; without it, requests that search are rejected')),
  max_searches: Type.Optional(count(
    'Most searches per response: their price is held, and charged if the provider does not count them. Default: 1.',
    1, 1000)),
  image: Type.Optional(usd('image')),
  second: Type.Optional(usd('second of video'))
}, {
  ...strict,
  minProperties: 1,
  examples: [{ input: 0, output: 0 }],
  description: 'Prices in USD. A unit without a price, here or in the catalogue, cannot be sold; write 0 if it is free.'
})

/** `cost` of a model or a deployment. */
const CostEntry = Type.Object({
  ...PriceEntry.properties,
  tiers: Type.Optional(Type.Array(TierEntry, { maxItems: 16, description: 'Your cost of long prompts.' }))
}, {
  ...strict,
  minProperties: 1,
  description: 'The provider\'s price, in the units of `price`; only for reports of costs and margins. ' +
    'Default: the cost that the provider reports, if any.'
})

export const deploymentDefaults = { weight: 1, priority: 0 } as const
/** The default release date of a model: 2026-01-01 in Unix seconds. */
export const defaultCreated = 1_767_225_600

const DeploymentEntry = Type.Object({
  provider: Type.String({ minLength: 1, maxLength: 64, description: 'Id of a provider.' }),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: upstreamModel })),
  price: Type.Optional(PriceEntry),
  cost: Type.Optional(CostEntry),
  weight: Type.Number({
    minimum: 0,
    maximum: 1_000_000,
    default: deploymentDefaults.weight,
    description: 'Share of the conversations among deployments of the same priority; 0: only when the others fail.'
  }),
  priority: count('Deployments with a lower number are tried first.', 0, 1_000_000, deploymentDefaults.priority)
}, { ...strict, description: 'A provider that runs the model.' })
type DeploymentEntry = Parsed<typeof DeploymentEntry>

const CapabilitiesEntry = Type.Object({
  tools: Type.Optional(flag('Calls tools. Default: as in the catalogue, else false.')),
  vision: Type.Optional(flag('Accepts images. Default: as in the catalogue, else true for video models, false for others.')),
  audio: Type.Optional(flag('Accepts audio. Default: as in the catalogue, else false.')),
  files: Type.Optional(flag('Accepts files such as PDF. Default: as in the catalogue, else false.')),
  json_schema: Type.Optional(flag(
    'Follows a JSON Schema in `response_format`. Default: as in the catalogue, else false.')),
  reasoning: Type.Optional(flag('Reasons before it responds. Default: as in the catalogue, else false.')),
  streaming: Type.Optional(flag('Streams its response. Default: true.'))
}, { ...strict, description: 'Capabilities of the model.' })

const QualityEntry = Type.Object({
  code: Type.Optional(share('Writing and repairing programs.')),
  math: Type.Optional(share('Mathematics and logic.')),
  tools: Type.Optional(share('Calling tools.')),
  knowledge: Type.Optional(share('Knowing facts.')),
  extraction: Type.Optional(share('Extracting and rewriting text.')),
  chat: Type.Optional(share('Conversation and writing.')),
  multilingual: Type.Optional(share('Languages other than English.')),
  long_context: Type.Optional(share('Long prompts.'))
}, { ...strict, description: 'Expected share of good responses per domain, 0 to 1, used by `auto`.' })

/** One item of `models`. */
export const ModelEntry = Type.Object({
  id: Type.String({
    pattern: '^\\S{1,256}$',
    description: 'The name that clients send: no spaces, slashes are allowed.',
    examples: ['gpt-4o-mini']
  }),
  kind: Type.Optional(oneOf(['chat', 'image', 'video'], {
    description: 'What the model generates. Default: as in the catalogue, else `chat`; at providers without chat, by ' +
      'the name.'
  })),
  provider: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'Id of the provider that runs it; for several, use `deployments` instead.'
  })),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: upstreamModel })),
  deployments: Type.Optional(Type.Array(DeploymentEntry, {
    minItems: 1, maxItems: 100, description: 'The providers that run it, instead of `provider` and `model`.'
  })),
  price: Type.Optional(PriceEntry),
  cost: Type.Optional(CostEntry),
  context_window: Type.Optional(count('Most tokens of prompt and completion together.', 1, 1_000_000_000)),
  max_output: Type.Optional(count('Most tokens of one completion.', 1, 1_000_000_000)),
  capabilities: Type.Optional(CapabilitiesEntry),
  images: Type.Optional(ImagesEntry),
  video: Type.Optional(VideoEntry),
  quality: Type.Optional(QualityEntry),
  speed: Type.Optional(Type.Object({
    first_token_ms: count('Time to the first token.', 1, dayMs),
    tokens_per_second: Type.Number({ minimum: 0.01, maximum: 1_000_000, description: 'After the first token.' })
  }, { ...strict, description: 'Expected speed until it has been measured.' })),
  fallbacks: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
    maxItems: 8,
    description: 'Ids of models to try in this order when this one fails. Models that cost more are skipped unless ' +
      '`requests.allow_dearer_fallbacks` is true, and so are those the key may not use.'
  })),
  think_tags: Type.Optional(flag('Whether the model writes its thoughts as `<think>…</think>` at the beginning of its ' +
    'text; they become `reasoning_content`. Default: by its name at the provider, such as DeepSeek R1, MiniMax M and QwQ.')),
  cache_seconds: Type.Optional(count('How long responses are cached. An identical request of the same account with ' +
    '`temperature: 0` or a `seed` gets the cached response free of charge. Default: only when the client sends ' +
    '`x-tollgate-cache`.', 1, 604_800)),
  owned_by: Type.Optional(Type.String({
    minLength: 1, maxLength: 256, description: 'The owner shown to clients. Default: the first provider.'
  })),
  created: Type.Optional(count('Release date shown to clients, in Unix seconds. Default: as in the catalogue, else ' +
    '2026-01-01.', 0, 100_000_000_000))
}, { ...strict, description: 'A model on offer.' })
export type ModelEntry = Static<typeof ModelEntry>

/** A model at a provider. An absent price is the model's; a null price disables the deployment. */
export type DeploymentPlacement = Known<Omit<DeploymentEntry, 'price' | 'cost'>, 'model'>

/** A domain of `quality`. */
export type Domain = keyof Static<typeof QualityEntry>

type CapabilitiesEntry = Parsed<typeof CapabilitiesEntry>
export type Capabilities = Known<CapabilitiesEntry, keyof CapabilitiesEntry>
