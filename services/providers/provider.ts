import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Completion, CompletionRequest } from '../../schemas/openai/completions.ts'
import type { JsonText } from '../shared/json-text.ts'
import type { Download } from '../media/media.ts'
import type { Connection } from '../upstream/exchange.ts'
import { DeliveredText } from './delivered-text.ts'
import type { ImageProvider } from './provider-image.ts'
import type { VideoProvider } from './provider-video.ts'

/**
 * Tokens of one call as the provider counted them. `prompt` includes cached tokens, `completion` includes
 * reasoning.
 */
export interface Usage {
  prompt: number
  completion: number
  cachedRead?: number
  cacheWrite?: number
  reasoning?: number
  /** Tokens of audio among `prompt` and `completion`; absent: not told, and charged as text. */
  audioInput?: number
  audioOutput?: number
  /** What the provider says it charged, in nano-USD. */
  costNano?: number
}

/**
 * One call of one provider. `Request` is the validated body, `text` the same body as it came over the wire.
 */
export interface ProviderCall<Request> {
  request: Request
  text: JsonText
  /** The model's name at the provider. */
  model: string
  /** Most tokens of an answer, when the client set no limit and the money sets one; else null. */
  outputLimit: number | null
  /**
   * Most tokens of an answer that the model can write, where that is known; what was held is enough for
   * these.
   */
  maxOutput?: number | null
  requestId: string
  /**
   * Aborted when the client has gone or the gateway gives up; the provider must then stop and free
   * everything.
   */
  signal: AbortSignal
}

export type ChatCall = ProviderCall<ChatCompletionRequest>
export type CompletionCall = ProviderCall<CompletionRequest>

/** Filled while a byte stream is read; complete when the stream has ended. */
export interface StreamReport {
  usage: Usage | null
  /** The model name the provider reported. */
  model: string | null
  /** The text that has gone to the client, kept in case the provider tells no usage. */
  delivered: DeliveredText
  /** Names of request fields the provider cannot take and that were left out. */
  dropped: readonly string[]
}

/** A report about an answer of which nothing is known yet. */
export function createReport (dropped: readonly string[] = []): StreamReport {
  return { usage: null, model: null, delivered: new DeliveredText(), dropped }
}

/** Why an answer ended, in OpenAI's words. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

/**
 * A provider's answer, in one of three forms:
 * - `json`: the whole body; `text` is the very text to send when there is one, else null;
 * - `bytes`: an OpenAI event stream, each piece one or more whole SSE events, ending with `data: [DONE]`;
 *   usage events are already hidden from a client that did not ask for them. Throws UpstreamError when it
 * breaks;
 * - `chunks`: translated chunks; the last one always is a usage chunk (`choices: []`), no `[DONE]`.
 */
export type ProviderAnswer<Body, Chunk> =
  | { kind: 'json', body: Body, text: string | null, report: StreamReport }
  | { kind: 'bytes', events: EventStream, report: StreamReport }
  | { kind: 'chunks', chunks: AsyncIterable<Chunk>, report: StreamReport }

/** An event stream as bytes: to be iterated, or, at less cost per piece, poured into a sink. */
export interface EventStream extends AsyncIterable<Uint8Array> {
  /** Resolves when the last piece was written; throws like the iterator. */
  pipeTo (sink: EventSink): Promise<void>
}

/** Where the pieces of an event stream go. */
export interface EventSink {
  /** Returns false when nothing more should come for now. */
  write (piece: Uint8Array): boolean
  /** Resolves when more may come; rejects when nobody wants more. */
  drained (): Promise<unknown>
}

export type ChatAnswer = ProviderAnswer<ChatCompletion, ChatCompletionChunk>
export type CompletionAnswer = ProviderAnswer<Completion, Completion>

/** Text generation at one upstream. All methods throw UpstreamError. */
export interface ChatApi {
  chat (call: ChatCall): Promise<ChatAnswer>
  /** Legacy text completions; absent where the upstream has no such endpoint. */
  complete?: (call: CompletionCall) => Promise<CompletionAnswer>
  /** Ids of the models the upstream offers. */
  models?: (signal: AbortSignal) => Promise<string[]>
}

/** One upstream for the life of one configuration. All methods throw UpstreamError. */
export interface Provider extends Partial<ChatApi> {
  readonly id: string
  images?: ImageProvider
  videos?: VideoProvider
  /** Lets running calls finish, then frees the connections. */
  close (): Promise<void>
}

/** A provider that chats. */
export type ChatProvider = Provider & ChatApi

/** What a part of a provider is created from. */
export interface Upstream {
  baseUrl: string
  apiKey: string | null
  /** The operator's own, sent with every request. */
  headers: Record<string, string>
  /** To the base URL. */
  readonly connection: Connection
  /** Opens a connection to another server of the same provider; it is closed with the provider. */
  connect (origin: string): Connection
  /** The same upstream with another base URL. */
  at (baseUrl: string): Upstream
  /** Fetches the files that clients name by URL; null: clients must send the bytes. */
  download: Download | null
}

/** What creates the parts of a provider; absent: the provider lacks the part. */
export interface ProviderParts {
  chat?: (upstream: Upstream) => ChatApi
  images?: (upstream: Upstream) => ImageProvider
  videos?: ((upstream: Upstream) => VideoProvider) | undefined
}
