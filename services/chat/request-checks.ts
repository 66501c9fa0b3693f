import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { isPolicy } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'
import { extraFields, lengthRole, misspelledField, outputLimitOf, type ExtraField } from '../shared/request-fields.ts'

/** Fields of chat that would be read as such on the way, without having been validated. */
const chatOnly = [
  'messages', 'tools', 'tool_choice', 'functions', 'function_call', 'modalities', 'audio', 'prediction', 'video',
  'web_search_options'
]

/** Checks what the schema cannot say about a chat request. Throws GatewayError (400). */
export function checkChatRequest (request: ChatCompletionRequest): void {
  checkStreamOptions(request)
  checkRouting(request)
  checkLengths(request)
  const bestOf: unknown = Reflect.get(request, 'best_of')
  if (given(bestOf) && bestOf !== 1) refuse('best_of', '\'best_of\' is a field of text completions; use \'n\'.')
  if (given(request.top_logprobs) && request.logprobs !== true) {
    refuse('top_logprobs', '\'top_logprobs\' is only allowed when \'logprobs\' is set to true.')
  }
}

/** Checks what the schema cannot say about a text completion request. Throws GatewayError (400). */
export function checkCompletionRequest (request: CompletionRequest): void {
  checkStreamOptions(request)
  checkRouting(request)
  for (const name of chatOnly) {
    if (Reflect.get(request, name) !== undefined) refuse(name, `'${name}' is not a field of text completions; use /v1/chat/completions.`)
  }
  checkLengths(request)
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

function checkRouting ({ model, routing }: ChatCompletionRequest | CompletionRequest): void {
  if (!given(routing) || isPolicy(model)) return
  refuse('routing', '\'routing\' is only allowed with the model `auto` or another policy, which choose a model.')
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

/**
 * Checks the fields that bound the length of an answer, under every name that a server may know. Throws
 * GatewayError 400 for one that is not a number of tokens, that contradicts the output limit, or whose name
 * some servers take for that of another field.
 */
function checkLengths (request: ChatCompletionRequest | CompletionRequest): void {
  if (!('messages' in request)) checkLimit(['max_completion_tokens'], Reflect.get(request, 'max_completion_tokens'))
  const extras = extraFields(request)
  if (extras.length === 0) return
  for (const field of extras) {
    const listed = misspelledField(field)
    if (listed !== null) refuseField(field.path, `some servers read it as '${listed}'; write '${listed}'`)
    if (lengthRole(field) === 'limit') checkLimit(field.path, field.value)
  }
  const limit = outputLimitOf(request)
  for (const field of extras) checkAgainst(limit, field)
}

function checkLimit (path: readonly string[], value: unknown): void {
  if (value === undefined || value === null || (Number.isInteger(value) && Number(value) >= 1)) return
  refuseField(path, 'must be a whole number of tokens, at least 1')
}

/** A minimum or a budget of thoughts above the limit would make some servers exceed it. */
function checkAgainst (limit: number | null, field: ExtraField): void {
  const { path, value } = field
  if (value === undefined || value === null) return
  const role = lengthRole(field)
  if (role === 'minimum') {
    // At Cerebras, -1 stands for the longest answer.
    if (!Number.isInteger(value) || Number(value) < 0) refuseField(path, 'must be a whole number of tokens, at least 0')
    if (limit !== null && Number(value) > limit) refuseField(path, tooLong(limit))
  }
  if (role !== 'budget') return
  // Here -1 leaves the length of the thoughts to the model.
  if (!Number.isInteger(value)) refuseField(path, 'must be a whole number of tokens')
  if (limit !== null && Number(value) > limit) refuseField(path, tooLong(limit))
}

const tooLong = (limit: number): string => `must not exceed the output limit of ${limit} tokens`

function refuseField (path: readonly string[], why: string): never {
  throw GatewayError.invalidValue(path.join('.').slice(0, 200), why)
}
