import { knownProviders } from '../../../schemas/config/known-providers.ts'
import { hostedToolsModels, responsesOnlyModels } from '../../config/catalogue/responses-only.ts'
import { imageDialects, type ImageDialect } from './image-dialects.ts'
import { createGeminiImages } from '../gemini/images.ts'
import { createVeoVideos } from '../gemini/veo.ts'
import type { FinishReason, ProviderParts } from '../provider.ts'
import { openRouterCost, perplexityCost, xaiCost, type CostReader } from '../reported-cost.ts'
import type { GuardKind } from './output-guard.ts'
import { promptRules, type PromptRules } from './prompt-rules.ts'
import { requestRules, type RequestRules } from './request-rules.ts'
import { urlPart } from '../url-part.ts'
import { createXaiVideos } from './xai-videos.ts'
import { createOpenRouterVideos } from './openrouter-videos.ts'
import { createOpenAIVideos, createTogetherVideos } from './videos.ts'

/** How an OpenAI-compatible server differs from api.openai.com. */
export interface Dialect {
  /** Header of the key, and the prefix of its value. */
  auth: { header: string, prefix: string }
  /** Query parameters of every request, unless the base URL has them. */
  query: Readonly<Record<string, string>>
  /** Whether the path of a request names the model, as a deployment of Azure. */
  deploymentInPath: boolean
  /** The names under which a chat request has its output limit: both where the server may know only one. */
  limitFields: readonly ('max_tokens' | 'max_completion_tokens')[]
  /** Whether a legacy completion may have `max_tokens: 0`; elsewhere that can mean no limit. */
  takesZeroLimit: boolean
  /**
   * Whether the gateway ends a stream that is longer than what is held, for servers that may ignore a limit.
   * `by-event`: every event with text is at least one token; `by-text`: not for certain. Null: they obey.
   */
  outputGuard: GuardKind | null
  /** The parameters it refuses, renames or bounds. */
  rules: RequestRules
  /** The form of messages and tools. */
  prompt: PromptRules
  /** Fields added to a final assistant message so that the answer continues it. */
  prefill: Readonly<Record<string, unknown>>
  /** Finish reasons outside OpenAI's list. `error` makes the answer a failure. */
  finishReasons: Readonly<Record<string, FinishReason | 'error'>>
  /** Path of the token counts, if not `usage`. */
  usagePath: readonly string[]
  /** Whether reasoning tokens are counted in the total but not in the completion. */
  reasoningApart: boolean
  /** Reads the reported cost; null: not reported. */
  cost: CostReader | null
  /** Path of the number of web searches, for models whose searches have a price each; null: not reported. */
  searches: { path: readonly string[], models: RegExp } | null
  streamUsage: boolean
  /** See `ChatApi.stopsOnDisconnect`. */
  stopsOnDisconnect: boolean
  completions: boolean
  /** Whether it has the Responses API, and limits the output and the calls of its tools there as asked. */
  responses: boolean
  /** The models that it serves there alone; null: none. Chats with them are translated. */
  responsesOnly: RegExp | null
  /** Those that work only with tools that the provider runs, so that no chat reaches them; null: none. */
  needsHostedTools: RegExp | null
  /** The format of encrypted reasoning, which the same format alone can read; OpenRouter's names. */
  reasoningFormat: string
  /** The models that take marks of cached prefixes; null: none. */
  cacheBreakpoints: RegExp | null
  /** Prefix to remove from the names in the list of models. */
  modelPrefix: string
  /** Whether its list has OpenRouter's prices, and `/videos/models` its video models. */
  statesPrices: boolean
  images: ImageDialect
  /** Creates the video part; null: it makes no videos. */
  videos: NonNullable<ProviderParts['videos']> | null
  /** The end of the base URL that is replaced for `videos` and `nativeImages`. */
  mediaBase?: { replaces: string, by: string }
  /** Creates the image part instead of `images`, if the base URL ends with `mediaBase.replaces`. */
  nativeImages?: NonNullable<ProviderParts['images']>
}

/** The path of a call of a model. */
export function callPath (path: string, model: string, { deploymentInPath }: Dialect): string {
  return deploymentInPath ? `/deployments/${urlPart(model)}${path}` : path
}

const base: Dialect = {
  auth: { header: 'authorization', prefix: 'Bearer ' },
  query: {},
  deploymentInPath: false,
  limitFields: ['max_tokens', 'max_completion_tokens'],
  takesZeroLimit: false,
  outputGuard: null,
  rules: requestRules.none,
  prompt: promptRules.usual,
  prefill: {},
  finishReasons: {},
  usagePath: ['usage'],
  reasoningApart: false,
  cost: null,
  searches: null,
  streamUsage: true,
  stopsOnDisconnect: false,
  completions: true,
  responses: false,
  responsesOnly: null,
  needsHostedTools: null,
  reasoningFormat: 'openai-responses-v1',
  cacheBreakpoints: null,
  modelPrefix: '',
  statesPrices: false,
  images: imageDialects.compatible,
  videos: null
}

/** Self-hosted servers and gateways still offer OpenAI's video API, which OpenAI has ended. */
const hosted: Dialect = {
  ...base, prompt: promptRules.templates, outputGuard: 'by-text', videos: createOpenAIVideos
}

/** An unknown server; most are self-hosted. */
const compatible: Dialect = { ...hosted, stopsOnDisconnect: true }

/** Servers that run open models. */
const open: Dialect = {
  ...base, prompt: promptRules.templates, outputGuard: 'by-event', stopsOnDisconnect: true
}

const openai: Dialect = {
  ...base,
  prompt: promptRules.openai,
  limitFields: ['max_completion_tokens'],
  responses: true,
  responsesOnly: responsesOnlyModels.openai,
  needsHostedTools: hostedToolsModels.openai,
  cacheBreakpoints: /^gpt-(5\.[6-9]|[6-9]|[12]\d)/,
  takesZeroLimit: true,
  images: imageDialects.openai,
  rules: requestRules.openai
}

/** The dialects of the known services whose differences are plain data. */
function knownDialects (): Record<string, Dialect> {
  return Object.fromEntries(knownProviders.flatMap(({ dialect, differs }) => {
    if (differs === undefined) return []
    const { refuses = [], roles, ...others } = differs
    const rules = rulesByDialect[dialect] ?? requestRules.none
    const form = promptsByDialect[dialect] ?? hosted.prompt
    const prompt = { ...form, roles: roles ?? form.roles }
    const drop = [...rules.drop, ...refuses]
    return [[dialect, { ...hosted, prompt, rules: { ...rules, drop }, ...others }]]
  }))
}

const rulesByDialect: Readonly<Record<string, RequestRules>> = requestRules
const promptsByDialect: Readonly<Record<string, PromptRules>> = {
  nvidia: promptRules.nvidia,
  moonshot: promptRules.usual
}

/** One row per kind of server, by the name used in `dialect:`; `Differences` has those of plain data. */
export const dialects: Readonly<Record<string, Dialect>> = {
  ...knownDialects(),
  compatible,
  openai,
  // Source: @ai-sdk/azure 4.0.85. Models are named by the customer's deployments.
  // Its documentation names no marks of cached prefixes.
  azure: {
    ...openai,
    auth: { header: 'api-key', prefix: '' },
    query: { 'api-version': 'v1' },
    reasoningFormat: 'azure-openai-responses-v1',
    cacheBreakpoints: null
  },
  // Source: openrouter.ai/docs, errors and usage accounting; @openrouter/sdk 1.3.19, ResponsesRequest.
  openrouter: {
    ...base,
    responses: true,
    rules: requestRules.openrouter,
    finishReasons: { error: 'error' },
    cost: openRouterCost,
    statesPrices: true,
    searches: { path: ['usage', 'server_tool_use_details', 'web_search_requests'], models: /^/ },
    // It takes the marks out for other models: openrouter.ai/docs, GPT-5.6 migration.
    cacheBreakpoints: /^openai\/gpt-(5\.[6-9]|[6-9]|[12]\d)/,
    images: imageDialects.openrouter,
    videos: createOpenRouterVideos
  },
  // Source: groq-sdk 1.6.0: `max_tokens` is deprecated.
  groq: {
    ...base,
    limitFields: ['max_completion_tokens'],
    rules: requestRules.groq,
    usagePath: ['x_groq', 'usage'],
    completions: false
  },
  together: {
    ...open,
    outputGuard: null,
    stopsOnDisconnect: false,
    limitFields: ['max_tokens'],
    rules: requestRules.together,
    finishReasons: { eos: 'stop' },
    images: imageDialects.together,
    videos: createTogetherVideos,
    mediaBase: { replaces: '/v1', by: '/v2' }
  },
  mistral: {
    ...base,
    limitFields: ['max_tokens'],
    prompt: promptRules.mistral,
    rules: requestRules.mistral,
    prefill: { prefix: true },
    finishReasons: { model_length: 'length', error: 'error' },
    completions: false,
    streamUsage: false
  },
  deepseek: {
    ...base,
    limitFields: ['max_tokens'],
    prompt: promptRules.schemas,
    rules: requestRules.deepseek,
    finishReasons: { insufficient_system_resource: 'error' },
    completions: false
  },
  xai: {
    ...base,
    // Only the newer one counts reasoning tokens.
    limitFields: ['max_completion_tokens'],
    responses: true,
    responsesOnly: responsesOnlyModels.xai,
    needsHostedTools: hostedToolsModels.xai,
    reasoningFormat: 'xai-responses-v1',
    prompt: promptRules.schemas,
    rules: requestRules.xai,
    reasoningApart: true,
    cost: xaiCost,
    // Calls have a price each, their sources none: docs.x.ai, "Pricing", November 2026.
    searches: { path: ['usage', 'server_side_tool_usage_details', 'web_search_calls'], models: /^/ },
    images: imageDialects.xai,
    videos: createXaiVideos
  },
  // Two output limits are refused; signatures pass unchanged.
  gemini: {
    ...base,
    limitFields: ['max_completion_tokens'],
    rules: requestRules.gemini,
    reasoningApart: true,
    completions: false,
    modelPrefix: 'models/',
    videos: createVeoVideos,
    nativeImages: createGeminiImages,
    mediaBase: { replaces: '/openai', by: '' }
  },
  // Google's endpoint for models of all makers. Source: @ai-sdk/google-vertex 4.0.208, maas.
  vertex: { ...base, limitFields: ['max_tokens'], reasoningApart: true, completions: false },
  perplexity: {
    ...base,
    limitFields: ['max_tokens'],
    rules: requestRules.perplexity,
    cost: perplexityCost,
    searches: { path: ['usage', 'num_search_queries'], models: /deep-research/ },
    completions: false
  },
  fireworks: { ...base, limitFields: ['max_tokens'], rules: requestRules.fireworks },
  cerebras: { ...base, limitFields: ['max_completion_tokens'], rules: requestRules.cerebras },
  // Source: docs.aws.amazon.com, "Chat Completions API" of Amazon Bedrock, November 2026. Which models have
  // the Responses API depends on the endpoint, so it is not used.
  bedrock: { ...base, limitFields: ['max_completion_tokens'], completions: false },
  // Source: docs.litellm.ai; it renames the limit for each provider, and some of these refuse two.
  litellm: { ...hosted, limitFields: ['max_completion_tokens'], prompt: promptRules.usual },
  vllm: { ...open, takesZeroLimit: true, videos: createOpenAIVideos },
  sglang: { ...open, videos: createOpenAIVideos },
  llamacpp: open,
  ollama: { ...open, limitFields: ['max_tokens'] },
  lmstudio: { ...open, limitFields: ['max_tokens'] }
}
