/* eslint no-template-curly-in-string: off -- `${NAME}` is the file's own syntax */
import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { dayMs, flag, milliseconds, oneOf, share, strict, usd } from './fields.ts'
import { ImagesEntry } from './images.ts'
import { BreakerEntry, RequestsEntry } from './requests.ts'
import { VideoBlock, VideoEntry } from './video.ts'

/** What holds where the file says nothing. */
export const configDefaults = {
  timeoutsMs: { connectMs: 5_000, firstByteMs: 120_000, idleMs: 60_000, totalMs: 600_000 },
  /** Each running stream holds one. Enough for a busy process, yet an upstream can bear a runaway. */
  maxConnections: 1024,
  weight: 1,
  priority: 0,
  /** What `created` says where nobody gave a date, the same on every start: 2026-01-01 in Unix seconds. */
  createdS: 1_767_225_600
} as const

/** The wire formats that are spoken; one row of services/providers/registry.ts each. */
const protocolNames = [
  'openai', 'anthropic', 'gemini', 'sandbox', 'bfl', 'fal', 'kling', 'luma', 'minimax', 'replicate', 'runway',
  'seedance', 'veo', 'wan'
] as const
export type Protocol = typeof protocolNames[number]

const dialectNames = [
  'openai', 'azure', 'openrouter', 'groq', 'together', 'mistral', 'deepseek', 'xai', 'gemini', 'vllm', 'sglang',
  'llamacpp', 'ollama', 'lmstudio', 'compatible'
] as const

const Timeouts = Type.Object({
  connect_ms: Type.Optional(milliseconds('Until the connection stands.', configDefaults.timeoutsMs.connectMs)),
  first_byte_ms: Type.Optional(
    milliseconds('From sending the request to the first byte of the answer.', configDefaults.timeoutsMs.firstByteMs)),
  idle_ms: Type.Optional(milliseconds('Longest silence within an answer.', configDefaults.timeoutsMs.idleMs)),
  total_ms: Type.Optional(milliseconds('The whole call, streams included.', configDefaults.timeoutsMs.totalMs))
}, { ...strict, description: 'Deadlines of one call, in milliseconds.' })

/** One item of `providers`. */
export const ProviderEntry = Type.Object({
  id: Type.String({
    pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
    description: 'Name of the provider: lower-case letters, digits, `.`, `_` and `-`. ' +
      'Clients reach any of its models as `<id>/<model>`.',
    examples: ['openai']
  }),
  protocol: Type.Optional(oneOf(protocolNames, {
    default: 'openai',
    description: '`openai` speaks to any OpenAI-compatible server. `anthropic` is the Messages API, `gemini` the Gemini ' +
      'API. `sandbox` answers by itself, for trying things out; it brings the models `sandbox-chat` and `sandbox-image` along. All others ' +
      'make images or videos. Default: the one known for this id.'
  })),
  dialect: Type.Optional(oneOf(dialectNames, {
    description: 'Which kind of OpenAI-compatible server this is. Default: the one known for this id, ' +
      'else `compatible`.'
  })),
  base_url: Type.Optional(Type.String({
    pattern: '^(https?://|.*\\$\\{)',
    maxLength: 2048,
    description: 'Where the API begins, with its version. Default: the one known for this id or dialect.',
    examples: ['https://api.openai.com/v1']
  })),
  api_key: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 16_384,
    description: 'The key sent upstream. Keep it out of this file: write `${NAME}`.',
    examples: ['${OPENAI_API_KEY}']
  })),
  headers: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 16_384 }), {
    maxProperties: 64,
    description: 'More headers to send with every request.'
  })),
  timeouts: Type.Optional(Timeouts),
  max_connections: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: configDefaults.maxConnections,
    description: 'Most connections open to this provider at once; each carries one running request, more wait.'
  })),
  claims: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
    maxItems: 1000,
    description: 'Names of models, `*` for any text, that go to this provider when nothing else serves them. ' +
      'Default: those known for this id.',
    examples: [['gpt-*', 'o3*']]
  })),
  discover: Type.Optional(Type.Boolean({
    default: false,
    description: "Whether the provider's own list of models is fetched and offered as `<provider>/<model>`."
  })),
  video_ms: Type.Optional(Type.Integer({
    minimum: 0, maximum: 600_000, default: 5_000, description: 'Sandbox only: how long a video takes, in milliseconds.'
  }))
}, { ...strict, description: 'A server that runs models.' })
export type ProviderEntry = Static<typeof ProviderEntry>

const upstreamModel = 'The name of the model at the provider. Default: the id of the model.'

const TierEntry = Type.Object({
  above: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Prompts with more tokens than that.' }),
  input: usd('1 million prompt tokens', 6),
  output: usd('1 million completion tokens', 6),
  cache_read: Type.Optional(usd('1 million prompt tokens that the provider had cached', 6)),
  cache_write: Type.Optional(usd('1 million prompt tokens that the provider put into its cache', 6))
}, { ...strict, description: 'What all tokens of a request with a long prompt cost.' })

const PriceEntry = Type.Object({
  input: Type.Optional(usd('1 million prompt tokens', 6)),
  output: Type.Optional(usd('1 million completion tokens', 6)),
  cache_read: Type.Optional(usd('1 million prompt tokens that the provider had cached', 6)),
  cache_write: Type.Optional(usd('1 million prompt tokens that the provider put into its cache', 6)),
  audio_input: Type.Optional(usd('1 million prompt tokens of audio', 6)),
  audio_output: Type.Optional(usd('1 million completion tokens of audio', 6)),
  tiers: Type.Optional(Type.Array(TierEntry, {
    maxItems: 16,
    description: "Prices for long prompts. Default: the catalogue's, unless `input` or `output` is given."
  })),
  image: Type.Optional(usd('image', 9)),
  second: Type.Optional(usd('second of video', 9))
}, {
  ...strict,
  minProperties: 1,
  description: 'Prices in USD. What is absent has no price and cannot be sold; what is free says 0.'
})

const DeploymentEntry = Type.Object({
  provider: Type.String({ minLength: 1, maxLength: 64, description: 'Id of a provider.' }),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: upstreamModel })),
  price: Type.Optional(PriceEntry),
  weight: Type.Optional(Type.Number({
    minimum: 0,
    maximum: 1_000_000,
    default: configDefaults.weight,
    description: 'The share of the requests it gets among deployments of the same priority; 0: only when the others fail.'
  })),
  priority: Type.Optional(Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: configDefaults.priority,
    description: 'The lower is tried first.'
  }))
}, { ...strict, description: 'A place where the model runs.' })

const CapabilitiesEntry = Type.Object({
  tools: Type.Optional(flag('Calls tools.', false)),
  vision: Type.Optional(flag('Reads images.', false)),
  audio: Type.Optional(flag('Reads audio.', false)),
  files: Type.Optional(flag('Reads files, such as PDF.', false)),
  json_schema: Type.Optional(flag('Keeps to a JSON schema given as `response_format`.', false)),
  reasoning: Type.Optional(flag('Thinks before it answers.', false)),
  streaming: Type.Optional(flag('Streams its answer.', true))
}, { ...strict, description: 'What the model can do.' })

const QualityEntry = Type.Object({
  code: Type.Optional(share('Writing and repairing programs.')),
  math: Type.Optional(share('Mathematics and logic.')),
  tools: Type.Optional(share('Calling tools.')),
  knowledge: Type.Optional(share('Knowing facts.')),
  extraction: Type.Optional(share('Extracting and rewriting text.')),
  chat: Type.Optional(share('Conversation and writing.')),
  multilingual: Type.Optional(share('Languages other than English.')),
  long_context: Type.Optional(share('Long prompts.'))
}, { ...strict, description: 'Expected share of good answers per domain, 0 to 1, for choosing a model.' })

/** One item of `models`. */
export const ModelEntry = Type.Object({
  id: Type.String({
    pattern: '^\\S{1,256}$',
    description: 'The name clients send; without spaces, slashes are welcome.',
    examples: ['gpt-4o-mini']
  }),
  kind: Type.Optional(oneOf(['chat', 'image', 'video'], { default: 'chat', description: 'What the model makes.' })),
  provider: Type.Optional(Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'Id of the one provider that runs it; for several, use `deployments` instead.'
  })),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: upstreamModel })),
  deployments: Type.Optional(Type.Array(DeploymentEntry, {
    minItems: 1,
    maxItems: 100,
    description: 'The places where it runs, instead of `provider` and `model`.'
  })),
  price: Type.Optional(PriceEntry),
  context_window: Type.Optional(Type.Integer({
    minimum: 1, maximum: 1_000_000_000, description: 'Most tokens of prompt and answer together.'
  })),
  max_output: Type.Optional(Type.Integer({
    minimum: 1, maximum: 1_000_000_000, description: 'Most tokens of one answer.'
  })),
  capabilities: Type.Optional(CapabilitiesEntry),
  images: Type.Optional(ImagesEntry),
  video: Type.Optional(VideoEntry),
  quality: Type.Optional(QualityEntry),
  speed: Type.Optional(Type.Object({
    first_token_ms: Type.Integer({ minimum: 1, maximum: dayMs, description: 'Until the first token.' }),
    tokens_per_second: Type.Number({ minimum: 0.01, maximum: 1_000_000, description: 'From then on.' })
  }, { ...strict, description: 'What to expect of its speed before anything was measured.' })),
  fallbacks: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
    maxItems: 8,
    description: 'Ids of models to try, in this order, when this one cannot answer. None that costs more, unless ' +
      '`requests.allow_dearer_fallbacks` is true, and none that the key may not use.'
  })),
  cache_seconds: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 604_800,
    description: 'How long answers are kept and given again, free of charge, to the same request of the same account, ' +
      'when it has `temperature: 0` or a `seed`. Default: only when the client says so with `x-tollgate-cache`.'
  })),
  owned_by: Type.Optional(Type.String({
    minLength: 1, maxLength: 256, description: 'Who made it, as shown to clients. Default: the first provider.'
  })),
  created: Type.Optional(Type.Integer({
    minimum: 0,
    maximum: 100_000_000_000,
    default: configDefaults.createdS,
    description: 'When it appeared, in Unix seconds, as shown to clients.'
  }))
}, { ...strict, description: 'A model on offer.' })
export type ModelEntry = Static<typeof ModelEntry>

/** One item of `policies`. */
export const PolicyEntry = Type.Object({
  id: Type.String({
    pattern: '^auto(:[a-z0-9_-]{1,64})?$',
    description: 'What clients send as the model: `auto`, or `auto:` and a name. `auto`, `auto:cost`, ' +
      '`auto:quality` and `auto:speed` exist without being listed and choose among all chat models.',
    examples: ['auto:cost']
  }),
  models: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
    minItems: 1,
    maxItems: 1000,
    default: ['*'],
    description: 'The chat models to choose from, `*` for any text.'
  })),
  cost_weight: Type.Optional(Type.Number({
    minimum: 0, maximum: 100, description: "Weight of cost against quality. Default: the policy's own."
  })),
  latency_weight: Type.Optional(Type.Number({
    minimum: 0, maximum: 100, description: "Weight of latency against quality. Default: the policy's own."
  })),
  ceiling: Type.Optional(usd('request at most; dearer candidates are left out', 9))
}, { ...strict, description: 'A way to choose a model.' })
export type PolicyEntry = Static<typeof PolicyEntry>

/** The operator's `gateway.yaml` after `${NAME}` has been filled in; an empty key counts as absent. */
export const GatewayFile = Type.Object({
  environment_providers: Type.Optional(Type.Boolean({
    default: true,
    description: 'Whether every provider whose key is in the environment, such as OPENAI_API_KEY, is added. ' +
      'A provider listed here goes before one of the same id from the environment.'
  })),
  providers: Type.Optional(Type.Array(ProviderEntry, { maxItems: 200, description: 'The servers that run models.' })),
  models: Type.Optional(Type.Array(ModelEntry, { maxItems: 10_000, description: 'The models on offer.' })),
  policies: Type.Optional(Type.Array(PolicyEntry, { maxItems: 100, description: 'How `auto` chooses.' })),
  requests: Type.Optional(RequestsEntry),
  breaker: Type.Optional(BreakerEntry),
  video: Type.Optional(VideoBlock)
}, {
  ...strict,
  title: 'Tollgate configuration',
  description: 'Every text may contain `${NAME}` or `${NAME:-default}` from the environment; `$${` is a plain `${`.'
})
export type GatewayFile = Static<typeof GatewayFile>
