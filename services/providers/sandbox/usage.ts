import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { countAttachments, visibleText } from './chat-context.ts'
import { createTokenCounter } from './tokens.ts'

/**
 * Counts prompt tokens: 3 for the reply and 4 per message, plus the messages' texts, names and calls, a flat
 * number per attachment, and the tools and response format as JSON.
 */
function countPrompt (request: ChatCompletionRequest): number {
  const { messages, tools, functions, response_format: format } = request
  const count = createTokenCounter()
  const countJson = (value: unknown): number => value == null ? 0 : count(JSON.stringify(value))
  let tokens = 3 + countJson(tools) + countJson(functions) + countJson(format)
  for (const message of messages) {
    const attached = countAttachments(message)
    tokens += 4 + count(visibleText(message)) +
      attached.image * imageTokens + attached.audio * audioTokens +
      attached.file * fileTokens + attached.video * videoTokens
    if ('name' in message && message.name !== undefined) tokens += count(message.name)
    if (message.role === 'assistant') tokens += countJson(message.tool_calls) + countJson(message.function_call)
  }
  return tokens
}

/** OpenAI's usage object for a request and its completion tokens. */
export function buildUsage (request: ChatCompletionRequest, completionTokens: number): CompletionUsage {
  const promptTokens = countPrompt(request)
  const clips = request.messages.reduce((count, message) => count + countAttachments(message).audio, 0)
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: clips * audioTokens },
    completion_tokens_details: {
      reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0
    }
  }
}

const imageTokens = 85
const audioTokens = 60
const fileTokens = 250
const videoTokens = 1_000
