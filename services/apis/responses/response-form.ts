import type { ChatCompletion, ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import type { ResponseObject } from '../../../schemas/openai/responses.ts'
import { encodeNamedEvent } from '../../providers/upstream/sse.ts'
import type { Translator, StreamTranslator } from '../translated.ts'
import { ResponseBuilder } from './response-builder.ts'
import type { ResponseStart } from './response-object.ts'
import type { ToolNames } from './tool-names.ts'

/** Keeps a finished response; resolves to whether it could be kept. */
export type KeepResponse = (response: ResponseObject) => Promise<boolean>

/** Writes what chat has as a response, whole or as events. */
export function responseTranslator (head: ResponseStart, names: ToolNames, keep: KeepResponse): Translator {
  return {
    async whole (completion) {
      const builder = new ResponseBuilder(head, names)
      const { error } = completion
      // A video that has failed after the status was sent.
      if (error !== undefined) {
        builder.take({ ...asChunk(completion), choices: [] })
        return builder.fail({ status: error.type === 'invalid_request_error' ? 400 : 502, message: error.message })
      }
      builder.take(asChunk(completion))
      const response = builder.end()
      response.store = await keep(response)
      return response
    },
    stream: () => responseStream(head, names, keep)
  }
}

function responseStream (head: ResponseStart, names: ToolNames, keep: KeepResponse): StreamTranslator {
  let events: Buffer[] = []
  let sequence = 0
  const builder = new ResponseBuilder(head, names, (type, members) => {
    events.push(encodeNamedEvent(type, { type, sequence_number: sequence++, ...members }))
  })
  const taken = (): Buffer => {
    const bytes = Buffer.concat(events)
    events = []
    return bytes
  }
  return {
    next (chunk) {
      builder.take(chunk)
      return taken()
    },
    async end () {
      const response = builder.end()
      response.store = await keep(response)
      builder.finish()
      return taken()
    },
    error (error) {
      builder.fail(error)
      return taken()
    }
  }
}

/** A whole completion as the only chunk of a stream. */
function asChunk (completion: ChatCompletion): ChatCompletionChunk {
  const { choices, usage } = completion
  return {
    ...completion,
    object: 'chat.completion.chunk',
    ...(usage === undefined ? {} : { usage }),
    choices: choices.map(({ index, message, finish_reason: reason, logprobs }) => ({
      index,
      finish_reason: reason,
      logprobs: logprobs ?? null,
      delta: { ...message, tool_calls: message.tool_calls?.map((call, index) => ({ index, ...call })) ?? [] }
    }))
  }
}
