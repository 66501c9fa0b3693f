import type { IncomingHttpHeaders } from 'node:http'
import type { CreateMessageRequest } from '../../../schemas/anthropic/messages.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ClientApi } from '../../chat/client-api.ts'
import { asWritten } from '../../chat/openai-apis.ts'
import { estimatePrompt } from '../../billing/estimate-usage.ts'
import { toMessagesError } from '../../http/messages-error.ts'
import type { EncodeError } from '../../requests/delivery.ts'
import type { Exchange } from '../../requests/exchange.ts'
import { JsonText } from '../../shared/json.ts'
import { encodeNamedEvent } from '../../providers/upstream/sse.ts'
import { translatedForm, type Translator } from '../translated.ts'
import { encodeMessageEvents, MessageStream } from './message-stream.ts'
import { nativeMessages } from './native.ts'
import { refuseUnpriced } from './native-needs.ts'
import { toChat } from './to-chat.ts'
import { askedOf, toMessage } from './to-message.ts'

interface ChatCall {
  exchange: Exchange<ChatCompletionRequest>
  api: ClientApi<ChatCompletionRequest>
  translator: Translator
}

/** A request for a message as the chat use case serves it. Throws GatewayError 400. */
export async function toChatCall (
  exchange: Exchange<CreateMessageRequest>, headers: IncomingHttpHeaders
): Promise<ChatCall> {
  const { body, rawBody, requestId } = exchange
  refuseUnpriced(body)
  const chat = toChat(body)
  const requested = askedOf(body)
  const inputTokens = body.stream === true ? await estimatePrompt(chat) : 0
  const encodeError: EncodeError = error => encodeNamedEvent('error', toMessagesError(error, requestId))
  const translator: Translator = {
    whole: completion => toMessage(completion, requested),
    stream () {
      const stream = new MessageStream({ ...requested, inputTokens })
      return {
        next: chunk => encodeMessageEvents(stream.take(chunk)),
        end: () => encodeMessageEvents(stream.end()),
        error: encodeError
      }
    }
  }
  return {
    exchange: {
      ...exchange,
      body: chat,
      rawBody: JsonText.from(chat),
      conversation: exchange.conversation ?? sessionOf(headers)
    },
    api: {
      name: 'messages',
      form: translatedForm(translator),
      native: asWritten(encodeError),
      keepAlive: encodeMessageEvents([{ type: 'ping' }]),
      ...nativeMessages({ request: body, original: rawBody, headers })
    },
    translator
  }
}

/** A coding agent's own name of the conversation. */
function sessionOf (headers: IncomingHttpHeaders): string | null {
  const id = headers['x-claude-code-session-id']
  return typeof id === 'string' && id !== '' ? id.slice(0, 200) : null
}
