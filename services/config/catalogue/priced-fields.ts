import { foldName } from '../../shared/request-fields.ts'
import type { ProviderConfig } from './types.ts'

/**
 * The effect of a request field on the cost of a request.
 * - `model`: runs another model instead of the priced one, or in addition.
 * - `tier`: runs at another price level; sold if `price.service_tiers` has that level.
 * - `search`: searches the web; sold if `price.search` is set.
 * - `answers`: multiplies the choices under a name without a price.
 * - `price`: costs something else, or adds tokens that are not in the request.
 */
export type FieldEffect = 'model' | 'tier' | 'search' | 'answers' | 'price'

export interface PricedField {
  /** The name as in the source. */
  name: string
  effect: FieldEffect
  /** Whether a value changes nothing. Null and an empty list never do. */
  isHarmless: (value: unknown) => boolean
  /** Whether a value only searches, if the field can do more. */
  isSearch?: (value: unknown) => boolean
}

const is = (...harmless: unknown[]) => (value: unknown): boolean => harmless.includes(value)
const field = (effect: FieldEffect) => (name: string, isHarmless = is()): PricedField =>
  ({ name, effect, isHarmless })
const [model, search, responses, price] = [field('model'), field('search'), field('answers'), field('price')]
const standardTiers = ['auto', 'default']
const tier = (...others: string[]): PricedField => field('tier')('service_tier', is(...standardTiers, ...others))

/** `extra_body` and similar members, which some servers merge over the checked fields. */
const overlays = [
  ...['model', 'fallbacks', 'messages', 'prompt'].map(name => model(name)),
  ...['tools', 'functions', 'modalities', 'audio', 'prediction'].map(name => price(name)),
  responses('n', is(1)), responses('best_of', is(1))
]

/** Tools of the Responses API that the provider runs; web searches have a separate price. */
export const serverToolNames = [
  'code_interpreter', 'file_search', 'image_generation', 'mcp', 'programmatic_tool_calling', 'shell'
] as const
const serverTools = serverToolNames.map(name => price(name))

/** Google's endpoint reads its settings from `extra_body.google`. */
function hasOnlyThoughts (value: unknown): boolean {
  const { google, ...others } = Object(value)
  const { thinking_config: _, thought_tag_marker: __, ...more } = Object(google)
  return Object.keys(others).length === 0 && Object.keys(more).length === 0
}

const google = [tier('standard'), search('web_search_options'), price('extra_body', hasOnlyThoughts)]

/** Only a longer lifetime has another price, anywhere in the prompt. */
const cacheControl = price('cache_control', () => true)

const isWebPlugin = (value: unknown): boolean =>
  Array.isArray(value) && value.every(plugin => plugin?.id === 'web')

/**
 * The fields of each dialect. Sources, read in November 2026, are the types of the providers' SDKs or their
 * documentation. Adapters of other protocols translate the fields they know and drop the rest.
 */
const known: Readonly<Record<string, readonly PricedField[]>> = {
  // openai 7.55.0, ChatCompletionCreateParams.
  openai: [tier(), search('web_search_options'), ...serverTools],
  // The same; learn.microsoft.com, "Azure OpenAI On Your Data".
  azure: [tier(), search('web_search_options'), price('data_sources'), ...serverTools],
  // @openrouter/sdk 1.3.19, ChatRequest; openrouter.ai/docs: models, routes, presets, plugins, transforms.
  openrouter: [
    tier(), search('web_search_options'), model('models'), model('route'), model('preset'),
    { ...model('plugins'), isSearch: isWebPlugin }, price('provider'), price('transforms'), price('image_config'),
    price('speed', is('standard')), cacheControl, ...serverTools
  ],
  // groq-sdk 1.6.0; console.groq.com/docs: flex has the price of on_demand, performance is provisioned.
  groq: [tier('on_demand', 'flex'), model('compound_custom')],
  // together-ai 0.52.0: the model that moderates.
  together: [model('safety_model')],
  // @mistralai/mistralai 2.7.0. Its dialect drops `service_tier`.
  mistral: [price('guardrails')],
  deepseek: [],
  // docs.x.ai: priority processing, deferred completions. Live Search has ended: vercel/ai#15718 on GitHub.
  xai: [
    tier(), search('web_search_options'), price('search_parameters', value => Object(value).mode === 'off'),
    price('deferred', is(false)),
    // docs.x.ai, "Pricing": the model decides how many tools it calls, so no hold covers its searches.
    price('web_search'), ...serverTools
  ],
  // ai.google.dev, "OpenAI compatibility" and "Service tiers".
  gemini: google,
  vertex: google,
  // @perplexity-ai/perplexity_ai 0.38.5; docs.perplexity.ai, "Pricing": the fee depends on the context size.
  perplexity: [search('web_search_options')],
  // docs.fireworks.ai, "Priority and fast".
  fireworks: [tier('standard')],
  // @cerebras/cerebras_cloud_sdk 1.91.0.
  cerebras: [tier(), price('model_parameters')],
  // vllm/entrypoints/openai/chat_completion/protocol.py: templates and processors add tokens to the prompt,
  // and transfers name other servers.
  vllm: [
    'chat_template', 'mm_processor_kwargs', 'media_io_kwargs', 'kv_transfer_params', 'ec_transfer_params'
  ].map(name => price(name)),
  // sglang/srt/entrypoints/openai/protocol.py.
  sglang: [
    model('lora_path'),
    ...['session_params', 'bootstrap_host', 'bootstrap_port', 'bootstrap_room', 'images_config'].map(name => price(name))
  ],
  // llama.cpp tools/server/server-schema.cpp.
  llamacpp: [model('lora'), responses('n_cmpl', is(1))],
  // ollama openai/openai.go.
  ollama: [],
  // lmstudio.ai/docs: a second model for speculative decoding.
  lmstudio: [model('draft_model')]
}

/** Fields of other servers and gateways; an unknown address may belong to any of them. */
const others: readonly PricedField[] = [
  // docs.litellm.ai, "Client-side fallbacks" and "Clientside LLM credentials".
  ...[
    'context_window_fallbacks', 'content_policy_fallbacks', 'context_window_fallback_dict', 'model_list', 'user_config',
    'custom_llm_provider', 'specific_deployment', 'litellm_params', 'api_base', 'base_url', 'api_key'
  ].map(name => model(name)),
  price('input_cost_per_token'), price('output_cost_per_token'),
  // Vercel AI Gateway; TGI's adapters.
  model('provider_options'), model('adapter_id'),
  // DashScope, Hunyuan, GLM, Cohere and Venice search by these.
  search('enable_search', is(false)), search('search_options'), search('web_search', is(false)),
  search('enable_enhancement', is(false)), search('connectors'), search('venice_parameters'),
  price('enable_code_interpreter', is(false)),
  // Google's endpoint, Anthropic's for OpenAI's clients, OpenAI's Responses behind gateways.
  price('cached_content'),
  price('inference_geo'), price('mcp_servers'), price('container'), price('previous_response_id'), price('conversation'),
  responses('num_return_sequences', is(1)), responses('candidate_count', is(1)), responses('num_completions', is(1)),
  responses('num_generations', is(1))
]

/** Members of a container are checked one by one, unless all fields of the server are listed. */
const anyServer = [...Object.values(known).flat().filter(({ name }) => name !== 'extra_body'), ...others]

/** The fields of a dialect; for an unknown one, those of every server. */
export function pricedFieldsOf (dialect: string): readonly PricedField[] {
  return [...known[dialect] ?? anyServer, ...overlays]
}

/** Models that search for every response, for a price in addition to the tokens. Read in November 2026. */
const searching: Readonly<Record<string, RegExp>> = {
  // platform.openai.com/docs/pricing, "Web search".
  openai: /^gpt-[\w.-]+-search-(preview|api)/,
  // console.groq.com/docs/compound.
  groq: /^(groq\/)?compound/,
  // docs.perplexity.ai, "Pricing".
  perplexity: /^sonar/
}

/**
 * The fee per response of a model that always searches, in nano-USD without tokens; null if unknown. With the
 * largest search context, because a request may select it. Source: docs.perplexity.ai, "Pricing",
 * November 2026.
 */
export function searchFeeOf (provider: string, model: string): number | null {
  if (provider !== 'perplexity') return null
  return searchFees.find(({ models }) => models.test(model))?.nano ?? null
}

const searchFees = [
  { models: /^sonar$/, nano: 12_000_000 },
  { models: /^sonar-(reasoning-)?pro$/, nano: 14_000_000 }
]

const anySearching = /(^|\/)(gpt-[\w.-]+-search-(preview|api)|(groq\/)?compound(-beta)?(-mini)?$|sonar(-|$))|:online$/

/** The request fields of a provider that change what a request costs, and the models that always search. */
export interface FieldPricing {
  /** By folded names, see `foldName`; without those that the operator allows. */
  readonly fields: ReadonlyMap<string, PricedField>
  /**
   * The treatment of `cache_control` with a longer time to live: `refused` if the server passes it on to
   * models that charge more for it and does not report those tokens; `priced` if it reports them.
   */
  readonly cacheLifetime: 'refused' | 'priced' | 'ignored'
  /** Matches the provider's models that search the web for every response; null if it has none. */
  readonly searchingModels: RegExp | null
}

/**
 * Anthropic's adapter sends only fields that it translates, including the lifetime of caches: tokens written
 * for an hour are counted separately. Source: @anthropic-ai/sdk 1.12.0, CacheControlEphemeral and
 * CacheCreation.
 */
export const anthropicPricing: FieldPricing = {
  fields: new Map(), cacheLifetime: 'priced', searchingModels: null
}

/** The pricing of the fields of one provider. */
export function fieldPricing (
  { dialect, allowFields }: Pick<ProviderConfig, 'dialect' | 'allowFields'>
): FieldPricing {
  const isAllowed = (name: string): boolean => allowFields?.includes(name) === true
  const fields = pricedFieldsOf(dialect).filter(({ name }) => !isAllowed(name))
  const isOpen = known[dialect] === undefined
  const pattern = searching[dialect === 'azure' ? 'openai' : dialect] ??
    (isOpen || dialect === 'openrouter' ? anySearching : null)
  return {
    // Of two rows with the same name the first counts.
    fields: new Map(fields.toReversed().map(field => [foldName(field.name), field])),
    cacheLifetime: (isOpen || dialect === 'openrouter') && !isAllowed('cache_control') ? 'refused' : 'ignored',
    searchingModels: pattern
  }
}
