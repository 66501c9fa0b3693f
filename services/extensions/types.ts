import type {
  ChatCompletion, ChatCompletionChunk, ChatCompletionRequest
} from '../../schemas/openai/chat-completions.ts'
import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'

export type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest, ImageGenerationRequest }

type Awaitable<Value> = Value | Promise<Value>

/**
 * A plugin: every hook is optional. Hooks see copies, in OpenAI's chat form for every API; a hook that
 * returns undefined changes nothing.
 */
export interface TollgatePlugin {
  /** 1 to 64 letters, digits, `.`, `_`, `-`, `/` and `@`, unique in the gateway. */
  readonly name: string
  /**
   * What a hook that throws, returns nonsense or exceeds its time does: `fail` ends the request with 500 (the
   * default), `skip` serves it without the plugin.
   */
  readonly onError?: 'fail' | 'skip'
  /** Time limit of each hook in ms, 5,000 by default. */
  readonly timeoutMs?: number
  /** Who sends a request to `/v1`; null lets the next plugin decide. Tollgate's keys come last. */
  authenticate? (request: LoginRequest, context: LoginContext): Awaitable<Identity | null | undefined>
  /** Before the money is reserved: changes a request, rejects it or responds to it. */
  request? (call: PluginCall, context: RequestContext): Awaitable<PluginCall | undefined | void>
  /** Around each call of a provider for a chat; `next` calls it once, whatever happens. */
  attempt? (
    call: AttemptCall, next: () => Promise<AttemptOutcome>, context: PluginContext
  ): Awaitable<unknown>
  /** One chunk of a streamed chat: returns what is sent instead; null or an empty list holds it back. */
  chunk? (piece: ChatCompletionChunk, context: PluginContext): Awaitable<Pieces>
  /**
   * A whole response of chat, before it is charged and sent. Without `chunk`, a stream is held back and
   * passed here at its end.
   */
  response? (completion: ChatCompletion, context: PluginContext): Awaitable<ChatCompletion | undefined | void>
  /** After the charge: `context` is null for a video, whose job ends after its request. */
  settled? (record: SettledRecord, context: PluginContext | null): Awaitable<void>
  /** Protocols for providers of gateway.yaml, by name. */
  readonly providers?: Readonly<Record<string, ProviderDefinition>>
  /** Called once when the gateway closes. */
  close? (): Awaitable<void>
}

export type Pieces = ChatCompletionChunk | readonly ChatCompletionChunk[] | null | undefined | void

/** A request as the hook `request` gets it. Images and videos have this hook and `settled` alone. */
export type PluginCall =
  | { kind: 'chat', body: ChatCompletionRequest }
  | { kind: 'video', body: ChatCompletionRequest }
  | { kind: 'image', body: ImageGenerationRequest }

/** The same object in all hooks of a plugin for one request, so that a WeakMap can keep state by it. */
export interface PluginContext {
  readonly requestId: string
  /** Id of the API key that pays, and its account. */
  readonly key: string
  readonly account: string
  readonly tags: Readonly<Record<string, string>> | null
  /** Aborts when the client disconnects or a hook of the plugin exceeds its time. */
  readonly signal: AbortSignal
  /** Ends the request with this status, 400 to 599, message and code. A hook's first decision counts. */
  reject (status: number, message: string, code?: string): never
}

export interface RequestContext extends PluginContext {
  /** Responds to a chat without a call of a provider, free of charge: a text or a whole completion. */
  answer (completion: string | ChatCompletion): never
}

/** A request without its body. */
export interface LoginRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly ip: string
}

export type LoginContext = Pick<PluginContext, 'requestId' | 'signal' | 'reject'>

/** Whose request it is. The key of a subject is created at its first request, and is listed as any other. */
export interface Identity {
  /** The account that pays. */
  account: string
  /** The person or service, unique within plugin and account; 1 to 256 characters. */
  subject: string
  /** Creates the account at the first request if it does not exist; otherwise that is a 403. */
  createAccount?: boolean
  /** Settings of the new key: globs of models, and limits. Operators may change them later. */
  models?: readonly string[]
  requestsPerMinute?: number
  tokensPerMinute?: number
  concurrentRequests?: number
}

/** One call of a provider. */
export interface AttemptCall {
  readonly provider: string
  /** The model's name there. */
  readonly model: string
  readonly requestId: string
}

/** How it began; a failed call rejects. */
export interface AttemptOutcome {
  readonly isStream: boolean
  /** Until its first byte or whole response. */
  readonly tookMs: number
  /** Of a whole response; null if the provider counts none, and for a stream. */
  readonly usage: ProviderUsage | null
}

/** The end of one request. */
export interface SettledRecord {
  readonly requestId: string
  readonly kind: 'chat' | 'image' | 'video'
  readonly key: string
  readonly account: string
  readonly tags: Readonly<Record<string, string>> | null
  /** The requested model, and the one that ran at the provider. */
  readonly requestedModel: string | null
  readonly model: string | null
  readonly provider: string | null
  readonly upstreamModel: string | null
  readonly usage: ProviderUsage | null
  /** US dollars as exact decimal text; null if nothing was charged. */
  readonly costUsd: string | null
  readonly status: number
  /** The code of the error that the client got. */
  readonly code: string | null
  readonly attempts: number
  readonly isStream: boolean
  readonly tookMs: number | null
  /** Name and outcome of each plugin, as `x-tollgate-plugins` has them. */
  readonly plugins: readonly string[]
}

/** Tokens; `prompt` includes cached ones, `completion` reasoning. */
export interface ProviderUsage {
  prompt: number
  completion: number
  cachedRead?: number
  cacheWrite?: number
  reasoning?: number
}

/** A protocol that a plugin brings. */
export interface ProviderDefinition {
  /**
   * Generates one response piece by piece, streamed or not. May throw a ProviderError. The usage is charged
   * exactly; without one it is estimated from the text.
   */
  chat (call: OwnProviderCall): AsyncIterable<ProviderPiece>
  /** Names of its models, for the list of models. */
  models? (signal: AbortSignal): Awaitable<readonly string[]>
  /** Whether it stops generating, and charging, when `signal` aborts: true by default. */
  stopsOnDisconnect?: boolean
}

export interface OwnProviderCall {
  readonly body: ChatCompletionRequest
  /** The model's name at the provider. */
  readonly model: string
  /** `base_url` of the provider in gateway.yaml; empty if it has none. */
  readonly baseUrl: string
  readonly requestId: string
  /** The most tokens of the response; null without a limit. */
  readonly maxTokens: number | null
  /** Aborts when the client disconnects or the gateway gives up. */
  readonly signal: AbortSignal
}

/** A part of a response. Arguments of a tool call may come in several pieces with its `index`. */
export type ProviderPiece =
  | { type: 'text', text: string }
  | { type: 'reasoning', text: string }
  | { type: 'tool_call', index?: number, id?: string, name?: string, arguments: string }
  | { type: 'finish', reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' }
  | ({ type: 'usage' } & ProviderUsage)

/** A failed call of a provider: its HTTP status decides whether it is retried, and what the client gets. */
export class ProviderError extends Error {
  readonly status: number
  readonly code: string | null
  readonly retryAfterMs: number | undefined

  constructor (status: number, message: string, more: { code?: string, retryAfterMs?: number } = {}) {
    super(message)
    this.name = 'ProviderError'
    this.status = status
    this.code = more.code ?? null
    this.retryAfterMs = more.retryAfterMs
  }
}

/** Types a plugin, or a function that creates one from its `options` in gateway.yaml. */
export function definePlugin<
  Plugin extends TollgatePlugin | ((options: never) => Awaitable<TollgatePlugin>)
> (plugin: Plugin): Plugin {
  return plugin
}

/** Types a protocol. */
export function defineProvider (provider: ProviderDefinition): ProviderDefinition {
  return provider
}
