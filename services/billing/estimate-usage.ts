import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { Usage } from '../providers/provider.ts'
import { countTokens } from './count-tokens.ts'

/** Tokens that frame a message or a part without text. */
const framing = { message: 4, image: 1000, file: 1000, audio: 500 }

/**
 * What a call has probably used, when its provider told nothing: the tokens of what was asked and of what was
 * delivered. Booked as an estimate.
 */
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
    other += framing.message
    const { content } = message
    if (typeof content === 'string') texts.push(content)
    if (!Array.isArray(content)) continue
    for (const part of content) {
      if (part.type === 'text') texts.push(part.text)
      else other += part.type === 'image_url' ? framing.image : part.type === 'file' ? framing.file : framing.audio
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
