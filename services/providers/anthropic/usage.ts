import type { CompletionUsage } from '../../../schemas/openai/usage.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import type { Usage } from '../report.ts'
import { readUsage, tokenCount } from '../usage.ts'

/** Token counts as the API gives them: `input` excludes cache reads and writes. */
export interface Counts {
  /** Null: not reported, or not readable. */
  input: number | null
  cacheRead: number
  cacheWrite: number
  /** Those of `cacheWrite` that are kept for an hour. */
  cacheWrite1h: number
  /** Whether the request asks for an hour alone; see `cachesForAnHour`. */
  keepsAnHour: boolean
  output: number
  /** Null: not reported. */
  thinking: number | null
  /** Web searches; null: not reported. */
  searches: number | null
}

export const noCounts: Counts = {
  input: null,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  keepsAnHour: false,
  output: 0,
  thinking: null,
  searches: null
}

const charged = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens']
const lifetimes = ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']

/**
 * The counts after another `usage`, whose fields are totals: they never fall, as some servers repeat them as
 * zeros. If a field is not a valid count, all counts are unknown, because the rest would be too low. Cache
 * writes without a stated lifetime, such as those after `message_start`, get that of the last mark in the
 * request.
 */
export function updateCounts (counts: Counts, usage: unknown): Counts {
  if (!isObject(usage)) return counts
  const written = isObject(usage.cache_creation) ? usage.cache_creation : {}
  if (!areCounts(usage, charged) || !areCounts(written, lifetimes)) {
    return { ...noCounts, keepsAnHour: counts.keepsAnHour }
  }
  const serverTools = isObject(usage.server_tool_use) ? usage.server_tool_use : {}
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const cacheWrite = Math.max(counts.cacheWrite, tokenCount(usage.cache_creation_input_tokens) ?? 0)
  const isForAnHour = counts.keepsAnHour && counts.cacheWrite1h === counts.cacheWrite
  const forMinutes = tokenCount(written.ephemeral_5m_input_tokens) ?? 0
  const untold = isForAnHour ? Math.max(0, cacheWrite - counts.cacheWrite - forMinutes) : 0
  return {
    input: greater(counts.input, tokenCount(usage.input_tokens)),
    cacheRead: Math.max(counts.cacheRead, tokenCount(usage.cache_read_input_tokens) ?? 0),
    cacheWrite,
    cacheWrite1h: tokenCount(written.ephemeral_1h_input_tokens) ?? counts.cacheWrite1h + untold,
    keepsAnHour: counts.keepsAnHour,
    output: Math.max(counts.output, tokenCount(usage.output_tokens) ?? 0),
    thinking: tokenCount(details.thinking_tokens) ?? counts.thinking,
    searches: greater(counts.searches, tokenCount(serverTools.web_search_requests))
  }
}

function greater (before: number | null, now: number | undefined): number | null {
  return now === undefined ? before : Math.max(before ?? 0, now)
}

/** Whether a block is what a web search has found; one that failed costs nothing. */
export function isSearchResult (block: unknown): boolean {
  return isObject(block) && block.type === 'web_search_tool_result' && Array.isArray(block.content)
}

/** The counts with at least the searches whose results are in an answer; unchanged if they have no price. */
export function withSearches (counts: Counts, found: number): Counts {
  return counts.searches === null || found <= counts.searches ? counts : { ...counts, searches: found }
}

function areCounts (usage: JsonObject, names: readonly string[]): boolean {
  return names.every(name => usage[name] == null || tokenCount(usage[name]) !== undefined)
}

/** The counts as the ledger takes them; null if the provider has not said how long the prompt is. */
export function chargedUsageOf (counts: Counts): Usage | null {
  const usage = counts.input === null ? null : readUsage({ usage: toUsage(counts) })
  if (usage !== null && counts.searches !== null) usage.searches = counts.searches
  return usage
}

/** The counts in OpenAI's form, where the prompt includes cached tokens. */
export function toUsage (counts: Counts): CompletionUsage {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output, thinking } = counts
  const prompt = (input ?? 0) + cacheRead + cacheWrite
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      ...(cacheWrite1h === 0 ? {} : { cache_write_1h_tokens: cacheWrite1h })
    },
    ...(thinking === null ? {} : { completion_tokens_details: { reasoning_tokens: thinking } })
  }
}
