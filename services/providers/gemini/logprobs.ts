import type { ChatLogprobs } from '../../../schemas/openai/chat-completions.ts'
import { isObject } from '../../shared/json.ts'

type TokenLogprob = NonNullable<ChatLogprobs['content']>[number]
type TopLogprob = TokenLogprob['top_logprobs'][number]

/**
 * Log probabilities in OpenAI's form; null when there are none. Source: @google/genai 3.1.0,
 * `LogprobsResult`.
 */
export function logprobsOf (result: unknown): ChatLogprobs | null {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return null
  const top = Array.isArray(result.topCandidates) ? result.topCandidates : []
  const content = result.chosenCandidates.map((chosen: unknown, index): TokenLogprob => {
    const others: unknown = isObject(top[index]) ? top[index].candidates : undefined
    return { ...entryOf(chosen), top_logprobs: Array.isArray(others) ? others.map(entryOf) : [] }
  })
  return { content, refusal: null }
}

function entryOf (candidate: unknown): TopLogprob {
  const { token, logProbability } = isObject(candidate) ? candidate : {}
  const text = typeof token === 'string' ? token : ''
  return { token: text, logprob: typeof logProbability === 'number' ? logProbability : 0, bytes: [...Buffer.from(text)] }
}
