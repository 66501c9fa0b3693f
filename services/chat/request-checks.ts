import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { GatewayError } from '../shared/errors.ts'

/** Checks what the schema cannot say about a chat request. Throws GatewayError (400). */
export function checkChatRequest (request: ChatCompletionRequest): void {
  checkStreamOptions(request)
  if (given(request.top_logprobs) && request.logprobs !== true) {
    refuse('top_logprobs', '\'top_logprobs\' is only allowed when \'logprobs\' is set to true.')
  }
}

/** Checks what the schema cannot say about a text completion request. Throws GatewayError (400). */
export function checkCompletionRequest (request: CompletionRequest): void {
  checkStreamOptions(request)
  checkPrompt(request.prompt)
  const n = request.n ?? 1
  // Zero is within the schema's bounds and stands for "not asked for".
  const bestOf = request.best_of || n
  if (bestOf < n) {
    refuse('best_of', 'You requested that the server return more choices than it will generate ' +
      `(HINT: you must set 'n' (currently ${n}) to be at most 'best_of' (currently ${bestOf}), or omit either ` +
      'parameter if you don\'t specifically want to use them.)')
  }
  if (bestOf > n && request.stream === true) {
    refuse('best_of', 'Results cannot be streamed when \'best_of\' is greater than \'n\'.')
  }
}

function checkStreamOptions (request: ChatCompletionRequest | CompletionRequest): void {
  if (given(request.stream_options) && request.stream !== true) {
    refuse('stream_options', 'The \'stream_options\' parameter is only allowed when \'stream\' is enabled.')
  }
}

function checkPrompt (prompt: CompletionRequest['prompt']): void {
  if (!Array.isArray(prompt)) return
  const kinds = new Set<string>(prompt.map(item => typeof item))
  if (kinds.size > 1) {
    refuse('prompt', 'Invalid \'prompt\': expected only strings, only tokens or only arrays of tokens in one array.')
  }
}

const given = (value: unknown): boolean => value !== undefined && value !== null

function refuse (param: string, message: string): never {
  throw GatewayError.invalidRequest(message, { param })
}
