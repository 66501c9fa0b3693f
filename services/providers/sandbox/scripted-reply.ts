import type { ScriptStep } from '../../../schemas/config/script.ts'
import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import type { Reply, ReplyCall } from './reply.ts'
import { countSandboxTokens, splitTokens } from './tokens.ts'

/** Whether a step says what the response is; otherwise the sandbox composes it. */
export function hasReply ({ text, refusal, tool_calls: calls }: ScriptStep): boolean {
  return text !== undefined || refusal !== undefined || calls !== undefined
}

/** Choice `index` of the response of a step; `newId` makes the ids of its tool calls. */
export function scriptedReply (step: ScriptStep, index: number, newId: () => string): Reply {
  const { text, reasoning = '', refusal } = step
  const calls = (step.tool_calls ?? []).map(({ name, arguments: input }): ReplyCall => {
    const json = typeof input === 'string' ? input : JSON.stringify(input ?? {})
    return { id: newId(), form: 'function', name, input: splitTokens(json) }
  })
  const content = text === undefined ? null : splitTokens(text)
  const counted = [text ?? '', reasoning, refusal ?? '', ...calls.flatMap(({ name, input }) => [name, input.join('')])]
  return {
    index,
    content,
    reasoning: reasoning === '' ? null : splitTokens(reasoning),
    refusal: refusal === undefined ? null : splitTokens(refusal),
    calls,
    finish: step.finish_reason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    tokens: counted.reduce((sum, one) => sum + countSandboxTokens(one), 0)
  }
}

/** The usage of a step, with that of the sandbox for what it leaves out. */
export function scriptedUsage ({ usage = {} }: ScriptStep, counted: CompletionUsage): CompletionUsage {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = counted
  const { prompt = promptTokens, completion = completionTokens, cached = 0, reasoning = 0 } = usage
  return {
    ...counted,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { ...counted.prompt_tokens_details, cached_tokens: cached },
    completion_tokens_details: { ...counted.completion_tokens_details, reasoning_tokens: reasoning }
  }
}
