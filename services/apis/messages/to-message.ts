import type { CreatedMessage, CreateMessageRequest, MessageBlock } from '../../../schemas/anthropic/messages.ts'
import type { ChatCompletion, ChatCompletionMessage } from '../../../schemas/openai/chat-completions.ts'
import { toolInput } from '../../providers/anthropic/convert-to-messages.ts'
import { isCopiedReasoning } from '../../providers/copied-reasoning.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { endingOf, messageOf, stopIn, usageOfMessage } from './message-head.ts'
import { Thoughts } from './thoughts.ts'

/** What is needed of a request to write its answer. */
export interface Asked { stops: readonly string[], showsThoughts: boolean }

export function askedOf ({ stop_sequences: stops, thinking }: CreateMessageRequest): Asked {
  const display = thinking !== undefined && 'display' in thinking ? thinking.display : null
  return { stops: stops ?? [], showsThoughts: display !== 'omitted' }
}

/** A chat completion as a message. */
export function toMessage (completion: ChatCompletion, { stops, showsThoughts }: Asked): CreatedMessage {
  const { choices: [choice], usage, service_tier: tier } = completion
  const message = choice?.message ?? { role: 'assistant', content: null }
  const refusal = message.refusal ?? ''
  const hasCalls = (message.tool_calls ?? []).length > 0
  const reason = choice?.finish_reason
  const ending = endingOf({ reason, refusal, hasCalls, stoppedAt: stopIn(choice ?? {}), stops })
  const head = messageOf(completion, usageOfMessage(usage, tier), ending)
  return { ...head, content: blocksOf(message, showsThoughts) }
}

function blocksOf (message: ChatCompletionMessage, isShown: boolean): MessageBlock[] {
  const { content, refusal, tool_calls: calls = [] } = message
  const thoughts = new Thoughts({ isShown })
  thoughts.take(message)
  const extras = Object.fromEntries(calls.flatMap(call => {
    const extra = extraOf(call)
    return extra === null ? [] : [[call.id, extra]]
  }))
  const thought = thoughts.end(extras)
  const text = `${content ?? ''}${refusal ?? ''}`
  return [
    ...(thought === null ? [] : [thought]),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map((call): MessageBlock => {
      const { name, input } = call.type === 'function'
        ? { name: call.function.name, input: toolInput(call.function.arguments) }
        : { name: call.custom.name, input: { input: call.custom.input } }
      return { type: 'tool_use', id: call.id, name, input }
    })
  ]
}

/**
 * What a provider wants back with a tool call; null if there is nothing, or only a copy of what the message
 * has in its `reasoning_details`.
 */
export function extraOf (call: object): JsonObject | null {
  const extra: unknown = Reflect.get(call, 'extra_content')
  return isObject(extra) && !isCopiedReasoning(extra) ? extra : null
}
