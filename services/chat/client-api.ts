import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type {
  ChatProvider, ChatResponse, CompletionResponse, NativeResponse, ProviderCall
} from '../providers/provider.ts'
import type { Candidate, Plan } from '../requests/candidates.ts'
import type { EncodeError, Events, Settle, Settled } from '../requests/delivery.ts'
import type { GatewayError } from '../shared/errors.ts'

export type AnyRequest = ChatCompletionRequest | CompletionRequest
export type ChatOrText = ChatResponse | CompletionResponse | NativeResponse

/** What a request asks of one candidate at a price beside that of the tokens. */
export interface Extras {
  tier: string | null
  searches: boolean
  longCache: boolean
  /** The tokens of thoughts beyond the output limit. */
  thoughtTokens: number
}

/** The API that a client has called: how providers are called for its request, how responses are written. */
export interface ClientApi<Request extends AnyRequest> extends ProviderCalls<Request>, ResponseForms {
  readonly name: 'chat' | 'completions' | 'messages' | 'responses'
}

/** How providers are called for a request, natively where they have its API too. */
export interface ProviderCalls<Request extends AnyRequest> {
  /** Calls a candidate; resolves with a whole response, or when a stream has begun. Throws UpstreamError. */
  call (candidate: Candidate<ChatProvider>, call: ProviderCall<Request>): Promise<ChatOrText>
  /**
   * Leaves out the candidates that cannot do what the chat request does not say. Throws GatewayError 400 when
   * none is left. Absent: the chat request says all.
   */
  narrow?: (plan: Plan<Candidate<ChatProvider>>) => Plan<Candidate<ChatProvider>>
  /**
   * Why a candidate would be called without a tool that the request only offers; null: it gets all of them.
   * Absent: the chat request says all.
   */
  lacking?: ((candidate: Candidate<ChatProvider>) => GatewayError | null) | undefined
  /** Whether a candidate is called natively, so that it may have models which chat does not. */
  speaks?: (candidate: Candidate<ChatProvider>) => boolean
  /** What is priced separately at a candidate, beside what the chat request says. */
  extras?: (candidate: Candidate<ChatProvider>) => Partial<Extras>
  /** The length of what a provider is sent, if it can be longer than the chat request; bounds the prompt. */
  bodyBytes?: number
  /** Whether the provider may leave out parts of the prompt, so that none is too long. */
  mayShorten?: boolean
  /** What a response depends on beside the chat request; absent: on nothing. */
  cacheKey?: unknown
}

export interface ResponseForms {
  /** Writes completions of chat (or legacy ones): a body with its cost, or chunks up to `[DONE]`. */
  readonly form: ResponseForm
  /** Writes what a provider with the client's API has written itself. */
  readonly native: ResponseForm
  /** An event without meaning, for a stream that has nothing else to send; absent: a comment. */
  readonly keepAlive?: Uint8Array
}

export interface ResponseForm {
  /** Writes a whole response, which was charged. */
  whole (response: WholeBody, settled: Settled): WholeBody | Promise<WholeBody>
  /** Writes an event stream; may call `settle` before an event that reports the charge. */
  stream (events: Events, settle: Settle): FormedStream
}

/** `text` is the serialization of `body` if it is known, else null. */
export interface WholeBody { body: object, text: string | null }

/** The events for the client, and those to send when they throw. */
export interface FormedStream { events: Events, encodeError: EncodeError }
