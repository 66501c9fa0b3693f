import type { ChatCompletion } from '../../../../schemas/openai/chat-completions.ts'
import type { ToolCall } from '../../../../schemas/openai/chat-messages.ts'
import { isObject, type JsonObject } from '../../../shared/json.ts'
import {
  paragraph, readEnding, readHead, readItemTexts, readToolCall, usageMember, type ItemTexts
} from './output-items.ts'
import { readPastReasoning, writePastCopy, writePastDetail, type PastReasoning } from './past-reasoning.ts'

/** A whole response as a chat completion; see `CompletionChunks` for a stream. */
export function toChatResponse (response: JsonObject, model: string, format: string): ChatCompletion {
  const { texts, calls, past } = readOutput(response.output, format)
  const [content = '', refusal = '', reasoning = ''] = (['content', 'refusal', 'reasoning'] as const)
    .map(kind => texts.map(text => text[kind]).filter(text => text !== '').join(paragraph))
  return {
    ...readHead(response, model),
    object: 'chat.completion',
    choices: [{
      index: 0,
      message: {
        role: 'assistant',
        content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
        refusal: refusal === '' ? null : refusal,
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...(past.length === 0 ? {} : { reasoning_details: past.map(writePastDetail) })
      },
      finish_reason: readEnding(response, calls.length > 0),
      logprobs: null
    }],
    ...usageMember(response)
  }
}

interface Output {
  texts: ItemTexts[]
  calls: ToolCall[]
  past: PastReasoning[]
}

function readOutput (items: unknown, format: string): Output {
  const output: Output = { texts: [], calls: [], past: [] }
  /** Reasoning since the last tool call; it is sent along with the next one. */
  let fresh: PastReasoning[] = []
  for (const item of Array.isArray(items) ? items.filter(isObject) : []) {
    output.texts.push(readItemTexts(item))
    const past = readPastReasoning(item, format)
    if (past !== null) {
      output.past.push(past)
      fresh.push(past)
    }
    const call = readToolCall(item)
    if (call === null) continue
    output.calls.push({ ...call, ...writePastCopy(fresh) })
    fresh = []
  }
  return output
}
