import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { countTokens } from './count-tokens.ts'
import { messageTexts } from './estimate-usage.ts'

/** Other tokenizers need fewer tokens than the one used, and the sample of a long text may be dense. */
const sureShare = 0.5

/**
 * The fewest tokens that a request's longest prompt has with any tokenizer, by its text alone: servers may
 * shrink images, and leave out tools and schemas.
 */
export async function leastPromptTokens (
  request: ChatCompletionRequest | CompletionRequest
): Promise<number> {
  if ('messages' in request) return await leastTextTokens(request.messages.flatMap(messageTexts).join('\n'))
  const { prompt } = request
  if (typeof prompt === 'string') return await leastTextTokens(prompt)
  const isOneOfTokens = typeof prompt?.[0] === 'number'
  if (prompt === null || isOneOfTokens) return prompt?.length ?? 0
  const counts = prompt.map(one => typeof one === 'string' ? leastTextTokens(one) : Array.isArray(one) ? one.length : 1)
  return Math.max(0, ...await Promise.all(counts))
}

async function leastTextTokens (text: string): Promise<number> {
  return Math.floor(await countTokens(text) * sureShare)
}
