import type {
  ChatCompletion, ChatCompletionChunk, ChatCompletionRequest
} from '../../schemas/openai/chat-completions.ts'
import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { ProviderDefinition, ProviderUsage } from './provider-types.ts'

export * from './provider-types.ts'
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
   * The effect of a hook that throws, returns an invalid value or exceeds its time: `fail` ends the request
   * with 500 (the default), `skip` serves it without the plugin.
   */
  readonly onError?: 'fail' | 'skip'
  /** Time limit of each hook in ms, 5,000 by default. */
  readonly timeoutMs?: number
  /** Identifies the sender of a request to `/v1`; null lets the next plugin, or Tollgate's keys, decide. */
  authenticate? (request: LoginRequest, context: LoginContext): Awaitable<Identity | null | undefined>
  /** Before the money is reserved: changes a request, rejects it or responds to it. */
  request? (call: PluginCall, context: RequestContext): Awaitable<PluginCall | undefined | void>
  /** Around each call of a provider for a chat; `next` calls it once, whatever happens. */
  attempt? (
    call: AttemptCall, next: () => Promise<AttemptOutcome>, context: PluginContext
  ): Awaitable<unknown>
  /**
   * One chunk of a chat: returns what is sent instead; null or an empty list holds it back. Without
   * `response`, a whole response comes here too, as chunks.
   */
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

/** The sender of a request. A subject's key is created at the first request and listed like any other. */
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

/** Types a plugin, or a function that creates one from its `options` in gateway.yaml. */
export function definePlugin<
  Plugin extends TollgatePlugin | ((options: never) => Awaitable<TollgatePlugin>)
> (plugin: Plugin): Plugin {
  return plugin
}
