import type { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Completion, CompletionRequest } from '../../schemas/openai/completions.ts'
import { PluginError } from '../extensions/plugin-error.ts'
import { legacyFields, legacyReason, legacyPrompts } from './legacy.ts'

// Legacy completions as plugins read them: each prompt is a message of the user.

/** Throws GatewayError 400 for prompts of tokens, which plugins cannot read. */
export function legacyAsChat (request: CompletionRequest): ChatCompletionRequest {
  const messages = legacyPrompts(request).map(content => ({ role: 'user' as const, content }))
  const shared = Object.entries(request).filter(([name]) => !legacyFields.has(name))
  return { ...Object.fromEntries(shared), model: request.model, messages }
}

/** The request with what plugins have changed. Throws PluginError if its prompts are no longer texts. */
export function legacyFromChat (chat: ChatCompletionRequest, request: CompletionRequest): CompletionRequest {
  const { messages } = chat
  const prompts = messages.map(({ role, content }) => role === 'user' && typeof content === 'string' ? content : null)
  const texts = prompts.filter(prompt => prompt !== null)
  if (texts.length !== legacyPrompts(request).length || texts.length !== prompts.length) {
    throw new PluginError(500, 'server_error', 'A plugin of this gateway has changed the number of prompts.', { code: 'plugin_failed' })
  }
  const shared = Object.entries(chat).filter(([name]) => name !== 'messages' && !legacyFields.has(name))
  return { ...request, ...Object.fromEntries(shared), prompt: Array.isArray(request.prompt) ? texts : texts[0] ?? '' }
}

export function chatOfCompletion (completion: Completion): ChatCompletion {
  const choices = completion.choices.map(({ text, index, finish_reason: reason }) => ({
    index,
    message: { role: 'assistant' as const, content: text, refusal: null },
    finish_reason: reason ?? 'stop',
    logprobs: null
  }))
  return { ...completion, usage: completion.usage ?? undefined, object: 'chat.completion', choices }
}

export function completionOfChat (completion: ChatCompletion): Completion {
  const choices = completion.choices.map(({ message, index, finish_reason: reason }) => ({
    text: message.content ?? '', index, logprobs: null, finish_reason: legacyReason(reason)
  }))
  return { ...completion, object: 'text_completion', choices }
}

export function chunkOfCompletion (completion: Completion): ChatCompletionChunk {
  const choices = completion.choices.map(({ text, index, finish_reason: reason }) => ({
    index, delta: { content: text }, finish_reason: reason, logprobs: null
  }))
  return { ...completion, object: 'chat.completion.chunk', choices }
}

export function completionOfChunk (chunk: ChatCompletionChunk): Completion {
  const choices = chunk.choices.map(({ delta, index, finish_reason: reason }) => ({
    text: delta.content ?? '', index, logprobs: null, finish_reason: reason === null ? null : legacyReason(reason)
  }))
  return { ...chunk, object: 'text_completion', choices }
}
