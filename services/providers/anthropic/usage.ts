import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { isObject } from '../../shared/json.ts'
import { tokenCount } from '../report.ts'

/** Token counts as the API gives them: `input` excludes cache reads and writes. */
export interface Counts {
  /** Null: not reported, or not readable. */
  input: number | null
  cacheRead: number
  cacheWrite: number
  output: number
  /** Null: not reported. */
  thinking: number | null
}

export const noCounts: Counts = { input: null, cacheRead: 0, cacheWrite: 0, output: 0, thinking: null }

const charged = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens']

/**
 * The counts after another `usage`, whose fields are totals; absent and null fields keep their value. A field
 * that is no count makes the whole unknown: the rest would be too little.
 */
export function updateCounts (counts: Counts, usage: unknown): Counts {
  if (!isObject(usage)) return counts
  if (charged.some(name => usage[name] != null && tokenCount(usage[name]) === undefined)) return noCounts
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  return {
    input: tokenCount(usage.input_tokens) ?? counts.input,
    cacheRead: tokenCount(usage.cache_read_input_tokens) ?? counts.cacheRead,
    cacheWrite: tokenCount(usage.cache_creation_input_tokens) ?? counts.cacheWrite,
    output: tokenCount(usage.output_tokens) ?? counts.output,
    thinking: tokenCount(details.thinking_tokens) ?? counts.thinking
  }
}

/** The counts in OpenAI's form, where the prompt includes cached tokens. */
export function toUsage ({ input, cacheRead, cacheWrite, output, thinking }: Counts): CompletionUsage {
  const prompt = (input ?? 0) + cacheRead + cacheWrite
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    ...(thinking === null ? {} : { completion_tokens_details: { reasoning_tokens: thinking } })
  }
}
