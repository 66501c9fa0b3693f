import type { ChatCompletionRequest } from '../../../../schemas/openai/chat-completions.ts'
import type { UnmetParameters } from '../../provider.ts'
import { unmetBy } from '../../unmet.ts'
import type { Dialect } from '../dialects.ts'
import { unmetParameters } from '../request.ts'
import { isForResponses } from './choose-api.ts'
import { toResponseRequest } from './to-response-request.ts'

/** What a request would lose, and what it would be refused for, in the API that serves it. */
export function unmetByEither (
  request: ChatCompletionRequest, model: string, dialect: Dialect
): UnmetParameters {
  const byChat = unmetParameters(request, model, dialect)
  if (!isForResponses(request, model, dialect)) return byChat
  const options = { format: null, phases: false, summarizes: false }
  const { dropped, refused } = unmetBy(() => toResponseRequest(request, options).dropped)
  return { dropped: [...new Set([...byChat.dropped, ...dropped])], refused: [...byChat.refused, ...refused] }
}
