import type {
  ChatCompletion, ChatCompletionChunk, ChatCompletionRequest
} from '../../schemas/openai/chat-completions.ts'
import type { Completion, CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelKind } from '../config/catalogue/kinds.ts'
import type { Cost } from '../config/catalogue/dearest.ts'
import type { FieldPricing } from '../config/catalogue/priced-fields.ts'
import type { ImageAbilities, VideoAbilities } from '../config/catalogue/types.ts'
import type { JsonText } from '../shared/json.ts'
import type { Download } from '../media/media.ts'
import type { Authorize, Connection } from './upstream/response.ts'
import type { ImageProvider } from './provider-image.ts'
import type { VideoProvider } from './provider-video.ts'
import type { Script } from './sandbox/script.ts'
import type { StreamReport, Usage } from './report.ts'

/** One call of one provider. `body` is validated, `rawBody` is the same as received. */
export interface ProviderCall<Request> {
  body: Request
  rawBody: JsonText
  /** The model's name at the provider. */
  model: string
  /** Most tokens of an answer, if the balance or the model sets a lower limit than the client; else null. */
  outputLimit: number | null
  /** The model's own output limit, where known; the hold covers it. */
  maxOutput?: number | null
  /** What the hold covers; absent or null: the model is free. */
  held?: HeldOutput | null
  /** Whether the text begins with thoughts between tags; absent or null: by the model's name. */
  thinkTags?: boolean | null
  /** What stands for the client's name of the conversation at the provider; null if it has none. */
  conversation?: () => string | null
  requestId: string
  /** The client's directive for the sandbox; every other provider ignores it. */
  sandbox?: string | undefined
  /** Aborted when the client disconnects or the gateway gives up; the provider must then free everything. */
  signal: AbortSignal
}

/** What the hold of a request covers. */
export interface HeldOutput {
  /** The most tokens of one answer. */
  readonly tokens: number
  /** Estimates what a call whose stream the gateway has ended has used, at most what is held. */
  estimate (request: ChatCompletionRequest | CompletionRequest, report: StreamReport): Promise<Usage>
}

export type ChatCall = ProviderCall<ChatCompletionRequest>
export type CompletionCall = ProviderCall<CompletionRequest>

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

/**
 * A provider's answer, in one of three forms:
 * - `json`: the whole body; `text` is its serialization if it is known, else null.
 * - `bytes`: an OpenAI event stream whose first event has arrived. Each piece holds whole SSE events, the
 *   last one `data: [DONE]`; usage is hidden from a client that did not ask for it. Throws UpstreamError.
 * - `chunks`: translated chunks, the last one with the usage (`choices: []`), without `[DONE]`. Nothing was
 *   read yet: the caller waits for the first chunk, so that a failure before it can be retried.
 */
export type ProviderResponse<Body, Chunk> = | { kind: 'json', body: Body, text: string | null, report: StreamReport, native?: false }
  | { kind: 'bytes', events: EventStream, report: StreamReport, native?: false }
  | { kind: 'chunks', chunks: AsyncIterable<Chunk>, report: StreamReport, native?: false }

/**
 * An answer in the form of the endpoint that was called, which the provider has too. It is passed on as it
 * came; the report has the usage by then.
 */
export type NativeResponse = | { kind: 'json', body: object, text: string | null, report: StreamReport, native: true }
  | { kind: 'bytes', events: EventStream, report: StreamReport, native: true }

/** An event stream as bytes. Piping it to a sink costs less per piece than iterating it. */
export interface EventStream extends AsyncIterable<Uint8Array> {
  /** Resolves when the last piece was written; rejects as the iterator does. */
  pipeTo (sink: EventSink): Promise<void>
}

/** The destination of an event stream. */
export interface EventSink {
  /** Returns false when the sink is full. */
  write (piece: Uint8Array): boolean
  /** Resolves when the sink takes more; rejects when the client has disconnected. */
  drained (): Promise<unknown>
}

export type ChatResponse = ProviderResponse<ChatCompletion, ChatCompletionChunk>
export type CompletionResponse = ProviderResponse<Completion, Completion>

/** A call of a provider that has Anthropic's Messages API; `body`: the same as a chat, for its bounds. */
export interface MessagesCall extends ChatCall {
  /** The body as the client wrote it, validated. */
  original: JsonText
  /** The client's `anthropic-version` and `anthropic-beta`, as far as it has sent them. */
  versionHeaders: Readonly<Record<string, string>>
  /** The most web searches of one answer; 0: it has no tool for that. */
  maxSearches: number
}

/** A call of a provider that has OpenAI's Responses API; `body`: the same as a chat, for its bounds. */
export interface ResponsesCall extends ChatCall {
  /** The body as the client wrote it, validated. */
  original: JsonText
  /** Members of the body to set (a value) or leave out (undefined). */
  edits: ReadonlyMap<string, unknown>
  /** The most web searches of one answer; 0: it has no tool for that. */
  maxSearches: number
  /** Whether the response is stored here, and needs reasoning that can be sent again. */
  keepsReasoning: boolean
}

/** The most tokens of a prompt with its answer, and of an answer; absent: not known. */
export interface ServerLimits { contextWindow?: number, maxOutput?: number }

/** What a server's lists state about a model; absent members are not stated. */
export interface StatedModel {
  kind?: ModelKind | undefined
  /** By the token. */
  cost?: (Cost & { searchNano?: number }) | undefined
  /** What a video model does, and its prices per second. */
  video?: Partial<VideoAbilities> & Pick<VideoAbilities, 'prices'>
  images?: Partial<ImageAbilities> & Pick<ImageAbilities, 'prices'>
}

/** Text generation at one upstream. All methods throw UpstreamError. */
export interface ChatApi {
  chat (call: ChatCall): Promise<ChatResponse>
  /** Legacy text completions; absent where the upstream has no such endpoint. */
  complete?: (call: CompletionCall) => Promise<CompletionResponse>
  /** Messages as they came; absent where the upstream has no such endpoint. */
  messages?: (call: MessagesCall) => Promise<NativeResponse>
  /** The upstream's names of the models that `messages` takes. Absent: all. */
  messageModels?: RegExp
  /**
   * Whether the upstream stops when the connection of a call is closed, and charges no more. Absent: it
   * finishes a whole answer and charges for it.
   */
  stopsOnDisconnect?: boolean
  /** The upstream's names of models that only `responses` reaches. */
  responsesOnly?: RegExp | undefined
  /** The upstream's names of models whose legacy completions are chats, though it has that endpoint. */
  completedByChat?: RegExp | undefined
  /** The upstream's names of models that take `prompt_cache_breakpoint` in the parts of a prompt. */
  cacheBreakpoints?: RegExp | undefined
  /** Responses as they came; absent where the upstream has no such endpoint. */
  responses?: (call: ResponsesCall) => Promise<NativeResponse>
  /** The tokens of a prompt in the form of that endpoint. */
  countMessageTokens?: (
    call: Pick<MessagesCall, 'original' | 'model' | 'versionHeaders' | 'signal'>
  ) => Promise<number>
  models?: (signal: AbortSignal) => Promise<string[]>
  /** What the server has said of the lengths that a model takes. Absent: it never does. */
  limitsOf?: (model: string) => ServerLimits
  /** What the server's lists have stated about a model. Absent: they state nothing. */
  statedOf?: (model: string) => StatedModel | undefined
  /** What it would not do of a request, by the parameters alone. Absent: it takes all of them. */
  unmet?: (request: ChatCompletionRequest, model: string) => UnmetParameters
}

/** Names of the parameters that are ignored, and of those for which the whole request is refused. */
export interface UnmetParameters { dropped: readonly string[], refused: readonly string[] }

/** One upstream for the life of one configuration. All methods throw UpstreamError. */
export interface Provider extends Partial<ChatApi> {
  readonly id: string
  /** Where it processes requests; absent or null: unknown. */
  readonly region?: string | null
  /** What request fields do to the price; absent: nothing, as only translated fields are sent. */
  readonly pricing?: FieldPricing
  images?: ImageProvider
  videos?: VideoProvider
  /** What it plays instead of calling a server; absent: it calls one. */
  script?: Script
  /** Lets running calls finish, then frees the connections. */
  close (): Promise<void>
}

export type ChatProvider = Provider & ChatApi

/** What a part of a provider is created from. */
export interface Upstream {
  baseUrl: string
  apiKey: string | null
  /** Configured by the operator, sent with every request. */
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

/** Creates the parts of a provider; absent: the provider lacks the part. */
export interface ProviderParts {
  /** Authorizes each request of all parts, on connections to other servers of the provider too. */
  authorize?: Authorize
  chat?: (upstream: Upstream) => ChatApi
  images?: (upstream: Upstream) => ImageProvider
  videos?: ((upstream: Upstream) => VideoProvider) | undefined
  /** Prices that a provider without a list of models states. */
  prices?: (upstream: Upstream) => Required<Pick<ChatApi, 'models' | 'statedOf'>>
}
