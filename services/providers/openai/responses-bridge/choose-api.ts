import type { ChatCompletionRequest } from '../../../../schemas/openai/chat-completions.ts'
import { UpstreamError } from '../../../shared/errors.ts'
import { createLru } from '../../../shared/lru.ts'
import type { ChatApi, ChatCall, ChatResponse } from '../../provider.ts'
import { isServedElsewhere, lacksEndpointMs, lacksResponses } from '../../refusals.ts'
import type { Dialect } from '../dialects.ts'
import { rowOf } from '../request.ts'

/** Whether a provider serves a chat request through its Responses API alone, by the data of its dialect. */
export function isForResponses (request: ChatCompletionRequest, model: string, dialect: Dialect): boolean {
  if (!dialect.responses) return false
  if (dialect.responsesOnly?.test(model) === true) return true
  const { functionEfforts } = rowOf(dialect.rules, model)
  return functionEfforts !== undefined && hasFunctions(request) &&
    !functionEfforts.includes(request.reasoning_effort ?? null)
}

/** Tools of other types are taken by chat, with any effort. */
function hasFunctions ({ tools }: ChatCompletionRequest): boolean {
  return tools?.some(({ type }) => type === 'function') === true
}

interface Apis {
  dialect: Dialect
  byChat: ChatApi['chat']
  byResponses: ChatApi['chat']
}

/** Clients can make up names of models; the least recently used are evicted. */
const maxRefused = 1000

/**
 * Chat through the API that serves the request: as the dialect's data say, as the server has said of a model
 * that they do not know, and through chat where the server has no Responses API.
 */
export function createChatByEither ({ dialect, byChat, byResponses }: Apis): ChatApi['chat'] {
  /** The kinds of requests that chat has refused. */
  const refused = createLru<true>(maxRefused)
  let lacksUntilMs = 0

  async function chatFirst (call: ChatCall): Promise<ChatResponse> {
    try {
      return await byChat(call)
    } catch (refusal) {
      if (!(refusal instanceof UpstreamError) || !isServedElsewhere(refusal) || isLacking()) throw refusal
      const response = await byResponses(call).catch((error: unknown) => {
        throw lacksResponses(error) ? refusal : error
      })
      refused.set(kindOf(call), true)
      return response
    }
  }

  async function responsesFirst (call: ChatCall): Promise<ChatResponse> {
    try {
      return await byResponses(call)
    } catch (error) {
      if (!lacksResponses(error)) throw error
      const response = await byChat(call)
      lacksUntilMs = performance.now() + lacksEndpointMs
      return response
    }
  }

  const isLacking = (): boolean => performance.now() < lacksUntilMs

  return call => {
    const isElsewhere = isForResponses(call.body, call.model, dialect) || refused.get(kindOf(call)) === true
    return isElsewhere && !isLacking() ? responsesFirst(call) : chatFirst(call)
  }
}

/** What decides whether chat refuses a request. */
function kindOf ({ model, body }: ChatCall): string {
  return `${hasFunctions(body)} ${body.reasoning_effort ?? ''} ${model}`
}
