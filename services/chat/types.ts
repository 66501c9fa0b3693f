import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { RequestsConfig } from '../config/catalogue/types.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import type {
  ChatResponse, ChatProvider, CompletionResponse, NativeResponse, ProviderCall
} from '../providers/provider.ts'
import type { AbandonedCalls } from '../requests/attempt.ts'
import type { Candidate, Catalogue, Plan } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import type { RequestReservations } from '../requests/request-reservation.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { AutoModel } from './auto-model.ts'
import type { Extras } from './request-checks.ts'

export interface Chat {
  /**
   * Serves `POST /v1/chat/completions`; throws GatewayError, UpstreamError or StoreUnavailable before the
   * first byte went out.
   */
  complete (exchange: Exchange<ChatCompletionRequest>, native?: Native): Promise<void>
  /** Serves `POST /v1/completions`, natively or through chat; throws like `complete`. */
  completeText (exchange: Exchange<CompletionRequest>): Promise<void>
  /** Resolves when no request is being served any more, with or without its client. */
  idle (): Promise<void>
}

/** How a request of another API than chat is answered by the providers that have that API too. */
export interface Native {
  /** Asks one; undefined if its provider does not have the API: then it is asked for a chat. */
  call (
    candidate: Candidate<ChatProvider>, call: ProviderCall<ChatCompletionRequest>
  ): Promise<NativeResponse | ChatResponse> | undefined
  /**
   * Leaves out the candidates that cannot do what the chat request does not say. Throws GatewayError 400 when
   * none of those asked for is left. Absent: the chat request says all.
   */
  narrow?: (plan: Plan<Candidate<ChatProvider>>) => Plan<Candidate<ChatProvider>>
  /** Whether a candidate is asked in that API, so that it may have models which chat does not. */
  speaks?: (candidate: Candidate<ChatProvider>) => boolean
  /** What a candidate is asked for at a price of its own, beside what the chat request says. */
  extras?: (candidate: Candidate<ChatProvider>) => Partial<Extras>
  /** The length of what a provider is sent, if it can be longer than the chat request; bounds the prompt. */
  bodyBytes?: number
  /** Whether the provider may leave out parts of the prompt, so that none is too long. */
  mayShorten?: boolean
  /** What an answer depends on beside the chat request; absent: on nothing. */
  cacheKey?: unknown
}

export interface ChatOptions {
  catalogue: Catalogue
  /** Read for each request, because the configuration may change. */
  config: () => { requests: RequestsConfig }
  ledger: Pick<Ledger, 'means'>
  holds: RequestReservations
  autoModel: AutoModel
  drains: AbandonedCalls
  /** Receives every call that failed, also when another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
  /** Receives requests for a whole answer that ended after their client had left. */
  onAbandoned: (requestId: string, record: RequestRecord) => void
  /** In [0, 1). */
  random?: () => number
}

export type AnyRequest = ChatCompletionRequest | CompletionRequest
export type ChatOrText = ChatResponse | CompletionResponse | NativeResponse
export type CallChat<Request> = (
  candidate: Candidate<ChatProvider>, call: ProviderCall<Request>
) => Promise<ChatOrText>

/** How a request is answered: how candidates are asked, and which ones. */
export interface Way<Request> {
  ask: CallChat<Request>
  native: Omit<Native, 'call'>
}

/** What a policy has selected; null: the request names its model. */
export type Selected = Awaited<ReturnType<AutoModel['select']>> | null
