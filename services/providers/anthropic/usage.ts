import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'

/** Token counts as the API gives them: `input` excludes cache reads and writes. */
export interface Counts {
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  /** Null: not reported. */
  thinking: number | null
}

export const noCounts: Counts = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, thinking: null }

/** The counts after another `usage`, whose fields are totals; absent and null fields keep their value. */
export function updateCounts (counts: Counts, usage: unknown): Counts {
  if (!isObject(usage)) return counts
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  return {
    input: countOf(usage, 'input_tokens') ?? counts.input,
    cacheRead: countOf(usage, 'cache_read_input_tokens') ?? counts.cacheRead,
    cacheWrite: countOf(usage, 'cache_creation_input_tokens') ?? counts.cacheWrite,
    output: countOf(usage, 'output_tokens') ?? counts.output,
    thinking: countOf(details, 'thinking_tokens') ?? counts.thinking
  }
}

/** The counts in OpenAI's form, where the prompt includes cached tokens. */
export function toUsage ({ input, cacheRead, cacheWrite, output, thinking }: Counts): CompletionUsage {
  const prompt = input + cacheRead + cacheWrite
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    ...(thinking === null ? {} : { completion_tokens_details: { reasoning_tokens: thinking } })
  }
}

function countOf (of: JsonObject, name: string): number | undefined {
  const value = of[name]
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
