import { isObject, type JsonObject } from '../json.ts'
import type { Usage } from './provider.ts'

/**
 * Token counts in an OpenAI answer or chunk, at `path` or in `usage`; null when there are none. Zero is a
 * value.
 */
export function readUsage (body: JsonObject, path: readonly string[] = ['usage']): Usage | null {
  let found: unknown = body
  for (const key of path) found = isObject(found) ? found[key] : undefined
  const usage = isObject(found) ? found : body.usage
  if (!isObject(usage)) return null
  const prompt = countOf(usage.prompt_tokens)
  const completion = countOf(usage.completion_tokens)
  if (prompt === undefined && completion === undefined) return null
  const promptDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const completionDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  return {
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    cachedRead: countOf(promptDetails.cached_tokens) ?? countOf(usage.prompt_cache_hit_tokens),
    cacheWrite: countOf(promptDetails.cache_write_tokens),
    reasoning: countOf(completionDetails.reasoning_tokens),
    ...audioIn(promptDetails.audio_tokens, completionDetails.audio_tokens)
  }
}

/** Most answers have no audio, and say so with a zero. */
function audioIn (input: unknown, output: unknown): Pick<Usage, 'audioInput' | 'audioOutput'> {
  const [audioInput, audioOutput] = [countOf(input), countOf(output)]
  return { ...(audioInput && { audioInput }), ...(audioOutput && { audioOutput }) }
}

function countOf (value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
