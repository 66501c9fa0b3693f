import type { ResponseRequest } from '../../../schemas/openai/responses.ts'
import type { ResponseInputItem } from '../../../schemas/openai/response-items.ts'
import type { Chat } from '../../chat/chat.ts'
import type { Incoming } from '../../requests/incoming.ts'
import { errorAnswer } from '../../http/error-answers.ts'
import { JsonText } from '../../shared/json.ts'
import { translated } from '../translated.ts'
import { withResponseParam } from './chat-params.ts'
import { newItemId } from './open-items.ts'
import { checkResponseRequest, nativeFeatureOf, needsNative } from './response-checks.ts'
import { responseForm } from './response-form.ts'
import { toChatRequest } from './to-chat.ts'
import type { NamedItem } from './to-messages.ts'
import { toolNames } from './tool-names.ts'

export interface Responses {
  /** Serves `POST /v1/responses`; throws like chat, and GatewayError 400 for what cannot be honoured. */
  create (incoming: Incoming<ResponseRequest>): Promise<void>
}

/** Creates the surface: a request becomes one of chat, and its answer a response. */
export function createResponses ({ chat }: { chat: Pick<Chat, 'complete'> }): Responses {
  return {
    async create (incoming) {
      const { request } = incoming
      checkResponseRequest(request)
      const items = inputItems(request)
      const feature = nativeFeatureOf(request, items)
      if (feature !== null) throw needsNative(feature, request.model)
      const completion = toChatRequest(request, items)
      const head = { id: newItemId('resp'), createdAt: Math.floor(Date.now() / 1000), request, isStored: false }
      const form = responseForm(head, toolNames(request.tools ?? []), async () => false)
      try {
        await chat.complete({
          ...incoming,
          request: completion,
          text: JsonText.from(completion),
          delivery: translated(incoming.delivery, form)
        })
      } catch (error) {
        const answer = errorAnswer(error)
        const renamed = withResponseParam(answer)
        throw renamed === answer ? error : renamed
      }
    }
  }
}

/** The items of a request, with their names in error messages. */
export function inputItems ({ input }: Pick<ResponseRequest, 'input'>): NamedItem[] {
  const items: ResponseInputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return items.map((item, at) => ({ item, param: `input[${at}]` }))
}
