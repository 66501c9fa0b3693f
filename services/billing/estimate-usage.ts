import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { Usage } from '../providers/provider.ts'
import { countTokens } from './count-tokens.ts'
import { typicalTokens } from './token-guess.ts'

/** Estimates the usage of a call whose provider reported none, from the prompt and what was delivered. */
export async function estimateUsage (
  request: ChatCompletionRequest | CompletionRequest, deliveredText: string
): Promise<Usage> {
  return { prompt: await promptTokens(request), completion: await countTokens(deliveredText) }
}

async function promptTokens (request: ChatCompletionRequest | CompletionRequest): Promise<number> {
  if (!('messages' in request)) return await legacyTokens(request.prompt)
  const texts: string[] = request.tools === undefined ? [] : [JSON.stringify(request.tools)]
  let other = 0
  for (const message of request.messages) {
    other += typicalTokens.message
    const { content } = message
    if (typeof content === 'string') texts.push(content)
    if (!Array.isArray(content)) continue
    for (const part of content) {
      if (part.type === 'text') texts.push(part.text)
      else other += part.type === 'image_url' ? typicalTokens.image : part.type === 'file' ? typicalTokens.file : typicalTokens.audio
    }
  }
  return other + await countTokens(texts.join('\n'))
}

async function legacyTokens (prompt: CompletionRequest['prompt']): Promise<number> {
  if (typeof prompt === 'string') return await countTokens(prompt)
  if (prompt === null) return 0
  let tokens = 0
  for (const one of prompt) tokens += typeof one === 'string' ? await countTokens(one) : Array.isArray(one) ? one.length : 1
  return tokens
}
