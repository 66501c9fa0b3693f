import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../schemas/openai/chat-messages.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig } from '../config/catalogue/types.ts'
import type { StreamReport, Usage } from '../providers/report.ts'
import { promptsOf } from '../shared/request-fields.ts'
import { countTokens } from './count-tokens.ts'
import { mediaTokens } from './media-tokens.ts'
import { generatedTokens, typicalTokens } from './token-guess.ts'

type Delivered = Pick<StreamReport, 'usage' | 'delivered'> & Partial<Pick<StreamReport, 'model'>>

/**
 * The usage of a call whose provider has not counted all of it: what it did count, and an estimate of the
 * rest, from the prompt and the text that was delivered since.
 */
export async function estimateUsage (
  request: ChatCompletionRequest | CompletionRequest, { usage, delivered, model }: Delivered
): Promise<Usage> {
  const text = Math.ceil(await countTokens(delivered.text) * delivered.scale)
  const audio = Math.ceil(text * delivered.spokenShare * generatedTokens.audioPerTranscript)
  const tokens = text + audio + delivered.images * generatedTokens.image
  const spoken = audio === 0 ? {} : { audioOutput: (usage?.audioOutput ?? 0) + audio }
  if (usage === null) {
    return { prompt: await estimatePrompt(request, model ?? request.model), completion: tokens, ...spoken }
  }
  return { ...usage, completion: Math.max(usage.completion, delivered.countedTokens + tokens), ...spoken }
}

/**
 * An estimate that is no longer than the context window, nor than the tokens held for each answer. What the
 * provider has counted is kept, even if it is more.
 */
export async function estimateWithin (
  request: ChatCompletionRequest | CompletionRequest, report: Delivered,
  { contextWindow }: Pick<ModelConfig, 'contextWindow'>, tokens = Infinity
): Promise<Usage> {
  const usage = await estimateUsage(request, report)
  const counted = report.usage
  const most = tokens * promptsOf(request) * (request.n ?? 1)
  return {
    ...usage,
    // No prompt is longer than the context window.
    prompt: counted?.prompt ?? Math.min(usage.prompt, contextWindow ?? Infinity),
    completion: Math.max(counted?.completion ?? 0, Math.min(usage.completion, most))
  }
}

/** Estimates the tokens of a prompt, for the model that the provider states if it does. */
export async function estimatePrompt (
  request: ChatCompletionRequest | CompletionRequest, model = request.model
): Promise<number> {
  if (!('messages' in request)) return await legacyTokens(request.prompt)
  const { messages, tools, functions, response_format: format } = request
  const texts = [tools, functions, format].filter(field => field != null).map(field => JSON.stringify(field))
  let other = 0
  for (const message of messages) {
    other += typicalTokens.message
    texts.push(...messageTexts(message))
    if (!Array.isArray(message.content)) continue
    for (const part of message.content) {
      if (part.type !== 'text' && part.type !== 'refusal') other += await mediaTokens(part, model)
    }
  }
  return other + await countTokens(texts.join('\n'))
}

/** What a message has of text, none of it empty. */
export function messageTexts (message: ChatMessage): string[] {
  const { content } = message
  const texts = !Array.isArray(content)
    ? [content ?? '']
    : content.map(part => part.type === 'text' ? part.text : part.type === 'refusal' ? part.refusal : '')
  return [callsOf(message), ...texts].filter(text => text !== '')
}

/** The tool calls of an earlier response, as text. */
function callsOf (message: ChatMessage): string {
  if (message.role !== 'assistant') return ''
  const calls = (message.tool_calls ?? []).map(call => call.type === 'function' ? call.function : call.custom)
  const called = message.function_call == null ? calls : [...calls, message.function_call]
  return called.map(call => `${call.name} ${'input' in call ? call.input : call.arguments}`).join('\n')
}

async function legacyTokens (prompt: CompletionRequest['prompt']): Promise<number> {
  if (typeof prompt === 'string') return await countTokens(prompt)
  if (prompt === null) return 0
  let tokens = 0
  for (const one of prompt) tokens += typeof one === 'string' ? await countTokens(one) : Array.isArray(one) ? one.length : 1
  return tokens
}
