import { setImmediate as turn } from 'node:timers/promises'
import type { ChatCompletion, ChatCompletionMessage } from '../../../schemas/openai/chat-completions.ts'
import type { ToolCall } from '../../../schemas/openai/chat-messages.ts'
import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { fakeLogprobs } from './logprobs.ts'
import type { Reply, ReplyCall } from './reply.ts'

/** The fields that a completion and its chunks share. `created` is in Unix seconds. */
export interface CompletionHead { id: string, created: number, model: string, system_fingerprint: string }

/** The replies as a chat completion, with `top` likeliest tokens each; null: no log probabilities. */
export async function buildCompletion (
  head: CompletionHead, replies: readonly Reply[], usage: CompletionUsage, top: number | null
): Promise<ChatCompletion> {
  const choices: ChatCompletion['choices'] = []
  for (const reply of replies) {
    if (top !== null && choices.length > 0) await turn()
    choices.push({
      index: reply.index,
      message: messageOf(reply),
      logprobs: top === null ? null : reply.content === null ? noLogprobs : fakeLogprobs(reply.content, top),
      finish_reason: reply.finish
    })
  }
  return { ...head, object: 'chat.completion', choices, usage }
}

const noLogprobs = { content: null, refusal: null }

function messageOf ({ content, reasoning, refusal, calls }: Reply): ChatCompletionMessage {
  const message: ChatCompletionMessage & { reasoning_content?: string } = {
    role: 'assistant', content: content?.join('') ?? null, refusal: refusal?.join('') ?? null, annotations: []
  }
  if (reasoning != null) message.reasoning_content = reasoning.join('')
  const [first] = calls
  if (first?.form === 'legacy') message.function_call = { name: first.name, arguments: first.input.join('') }
  else if (first !== undefined) message.tool_calls = calls.map(toolCallOf)
  return message
}

function toolCallOf ({ id, form, name, input }: ReplyCall): ToolCall {
  const text = input.join('')
  return form === 'custom'
    ? { id, type: 'custom', custom: { name, input: text } }
    : { id, type: 'function', function: { name, arguments: text } }
}
