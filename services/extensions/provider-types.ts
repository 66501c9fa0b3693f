import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'

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
  models? (signal: AbortSignal): readonly string[] | Promise<readonly string[]>
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

/** Types a protocol. */
export function defineProvider (provider: ProviderDefinition): ProviderDefinition {
  return provider
}
