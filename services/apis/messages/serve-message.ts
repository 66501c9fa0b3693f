import type { IncomingHttpHeaders } from 'node:http'
import type { CreateMessageRequest } from '../../../schemas/anthropic/messages.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { Native } from '../../chat/types.ts'
import { estimatePrompt } from '../../billing/estimate-usage.ts'
import { toMessagesError } from '../../http/messages-error.ts'
import { passing, type EncodeError } from '../../requests/delivery.ts'
import type { Exchange } from '../../requests/exchange.ts'
import { JsonText } from '../../shared/json.ts'
import { encodeNamedEvent } from '../../providers/upstream/sse.ts'
import { translated } from '../translated.ts'
import { encodeMessageEvents, MessageStream } from './message-stream.ts'
import { nativeMessages } from './native.ts'
import { refuseUnpriced } from './native-needs.ts'
import { toChat } from './to-chat.ts'
import { askedOf, toMessage } from './to-message.ts'

interface ChatCall { exchange: Exchange<ChatCompletionRequest>, native: Native }

/** A request for a message as the chat use case serves it. Throws GatewayError 400. */
export async function toChatCall (
  exchange: Exchange<CreateMessageRequest>, headers: IncomingHttpHeaders
): Promise<ChatCall> {
  const { body, rawBody, delivery, requestId } = exchange
  refuseUnpriced(body)
  const chat = toChat(body)
  const asked = askedOf(body)
  const inputTokens = body.stream === true ? await estimatePrompt(chat) : 0
  const encodeError: EncodeError = error => encodeNamedEvent('error', toMessagesError(error, requestId))
  return {
    exchange: {
      ...exchange,
      body: chat,
      rawBody: JsonText.from(chat),
      conversation: exchange.conversation ?? sessionOf(headers),
      delivery: translated(delivery, {
        whole: completion => toMessage(completion, asked),
        stream () {
          const stream = new MessageStream({ ...asked, inputTokens })
          return {
            next: chunk => encodeMessageEvents(stream.take(chunk)),
            end: () => encodeMessageEvents(stream.end()),
            error: encodeError
          }
        }
      }, passing(delivery, encodeError))
    },
    native: nativeMessages({ request: body, original: rawBody, headers })
  }
}

/** A coding agent's own name of the conversation. */
function sessionOf (headers: IncomingHttpHeaders): string | null {
  const id = headers['x-claude-code-session-id']
  return typeof id === 'string' && id !== '' ? id.slice(0, 200) : null
}
