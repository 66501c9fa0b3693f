import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { encodeEvent } from '../providers/upstream/sse.ts'
import { isPolicy } from '../requests/candidates.ts'
import type { EncodeError } from '../requests/delivery.ts'
import type { ClientApi, ResponseForm } from './client-api.ts'
import { completeByChat } from './legacy.ts'

/** Passes responses on as they are. */
export function asWritten (encodeError: EncodeError): ResponseForm {
  return { whole: response => response, stream: events => ({ events, encodeError }) }
}

const form = asWritten(error => encodeEvent(error.toBody()))

/** Chat completions. */
export const chatApi: ClientApi<ChatCompletionRequest> = {
  name: 'chat',
  form,
  native: form,
  call: ({ provider }, call) => provider.chat(call)
}

/** Legacy completions: of providers that have them, else through chat. */
export const completionsApi: ClientApi<CompletionRequest> = {
  name: 'completions',
  form,
  native: form,
  call ({ provider }, call) {
    // A policy chooses among chat models, which OpenAI's legacy endpoint does not serve.
    const isChat = isPolicy(call.body.model) || provider.completedByChat?.test(call.model) === true
    if (provider.complete === undefined || isChat) return completeByChat(provider, call)
    return provider.complete(call)
  }
}
