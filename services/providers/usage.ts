import { isObject, type JsonObject } from '../shared/json.ts'
import type { Usage } from './provider.ts'

/** Token counts in an OpenAI answer or chunk, at `path` or in `usage`; null when there are none. */
export function readUsage (body: JsonObject, path: readonly string[] = ['usage']): Usage | null {
  const found = valueAt(body, path)
  const usage = isObject(found) ? found : body.usage
  if (!isObject(usage)) return null
  const total = countOf(usage.total_tokens)
  const prompt = countOf(usage.prompt_tokens) ?? rest(total, usage.completion_tokens)
  const completion = countOf(usage.completion_tokens) ?? rest(total, usage.prompt_tokens)
  // One count alone is not enough: the other would be free.
  if (prompt === undefined || completion === undefined) return null
  const promptDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const completionDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  return {
    prompt,
    completion,
    cachedRead: countOf(promptDetails.cached_tokens) ?? countOf(usage.prompt_cache_hit_tokens),
    cacheWrite: countOf(promptDetails.cache_write_tokens),
    reasoning: countOf(completionDetails.reasoning_tokens),
    ...audioIn(promptDetails.audio_tokens, completionDetails.audio_tokens)
  }
}

/** The value at a path of keys; undefined if there is none. */
export function valueAt (body: JsonObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((found, key) => isObject(found) ? found[key] : undefined, body)
}

/** Most answers report zero audio tokens. */
function audioIn (input: unknown, output: unknown): Pick<Usage, 'audioInput' | 'audioOutput'> {
  const [audioInput, audioOutput] = [countOf(input), countOf(output)]
  return { ...(audioInput && { audioInput }), ...(audioOutput && { audioOutput }) }
}

function rest (total: number | undefined, other: unknown): number | undefined {
  const known = countOf(other)
  return total === undefined || known === undefined || known > total ? undefined : total - known
}

function countOf (value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
