import { imageDialects, type ImageDialect } from './image-dialects.ts'
import type { VideoForm } from './video-makers.ts'

/**
 * How an OpenAI-compatible server differs from api.openai.com. Everything here is data: a new compatible
 * upstream is a row, never a file.
 */
export interface Dialect {
  /** Header that carries the key, and what stands before it. */
  auth: { header: string, prefix: string }
  /** The name the upstream wants for the output limit; null leaves the client's own. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens' | null
  /** Request fields the upstream refuses: left out, and named in a response header. */
  drop: readonly string[]
  /** Request fields by another name. */
  rename: Readonly<Record<string, string>>
  /** Finish reasons outside OpenAI's list. `error` makes the answer a failure. */
  finishReasons: Readonly<Record<string, FinishReason | 'error'>>
  /** Where token counts stand when they are not in `usage`. */
  usagePath: readonly string[]
  /** Whether `stream_options.include_usage` may be sent. */
  streamUsage: boolean
  /** Whether the legacy `/completions` endpoint exists. */
  completions: boolean
  /** How it makes images. */
  images: ImageDialect
  /** How it makes videos; null where it makes none. */
  videos: VideoForm | null
  /** The end of the base URL, and what stands there for videos, where they are elsewhere. */
  videosBase?: readonly [end: string, instead: string]
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

const base: Dialect = {
  auth: { header: 'authorization', prefix: 'Bearer ' },
  maxTokensField: null,
  drop: [],
  rename: {},
  finishReasons: {},
  usagePath: ['usage'],
  streamUsage: true,
  completions: true,
  images: imageDialects.compatible,
  videos: null
}

/** One row per kind of server, by the name used in `dialect:`. */
export const dialects: Readonly<Record<string, Dialect>> = {
  // Servers of one's own and gateways speak OpenAI's form, though OpenAI itself has ended it.
  compatible: { ...base, videos: 'openai' },
  openai: { ...base, maxTokensField: 'max_completion_tokens', images: imageDialects.openai },
  azure: {
    ...base,
    auth: { header: 'api-key', prefix: '' },
    maxTokensField: 'max_completion_tokens',
    images: imageDialects.openai
  },
  openrouter: {
    ...base, finishReasons: { error: 'error' }, images: imageDialects.openrouter, videos: 'openrouter'
  },
  groq: { ...base, usagePath: ['x_groq', 'usage'], completions: false },
  together: {
    ...base,
    maxTokensField: 'max_tokens',
    finishReasons: { eos: 'stop' },
    images: imageDialects.together,
    videos: 'together',
    videosBase: ['/v1', '/v2']
  },
  mistral: {
    ...base,
    maxTokensField: 'max_tokens',
    drop: ['logit_bias', 'logprobs', 'top_logprobs', 'user', 'service_tier', 'store', 'metadata'],
    rename: { seed: 'random_seed' },
    finishReasons: { model_length: 'length', error: 'error' },
    completions: false,
    streamUsage: false
  },
  deepseek: {
    ...base,
    maxTokensField: 'max_tokens',
    finishReasons: { insufficient_system_resource: 'error' },
    completions: false
  },
  xai: { ...base, images: imageDialects.xai, videos: 'xai' },
  gemini: { ...base, completions: false, videos: 'veo', videosBase: ['/openai', ''] },
  vllm: { ...base, videos: 'openai' },
  sglang: { ...base, videos: 'openai' },
  llamacpp: base,
  ollama: { ...base, maxTokensField: 'max_tokens' },
  lmstudio: { ...base, maxTokensField: 'max_tokens' }
}
