import { isObject, type JsonObject } from '../../shared/json.ts'
import type { Dialect } from './dialects.ts'
import type { Usage } from '../provider.ts'
import { readUsage } from '../usage.ts'

const nanoPerUsd = 1e9

/** The usage that an answer or chunk tells in this dialect, with its cost where there is one; null: none. */
export function usageIn (body: JsonObject, dialect: Dialect): Usage | null {
  const usage = readUsage(withReasoning(body, dialect), dialect.usagePath)
  if (usage === null || dialect.cost === null) return usage
  const cost = at(body, dialect.cost.path)
  if (typeof cost !== 'number' || !(cost >= 0)) return usage
  return { ...usage, costNano: Math.round(cost * nanoPerUsd / dialect.cost.unitsPerUsd) }
}

/**
 * The body with reasoning counted in its completion, as OpenAI does it: it is what the total has beyond the
 * other two. The same object when that is so already.
 */
export function withReasoning (body: JsonObject, { reasoningApart }: Dialect): JsonObject {
  const { usage } = body
  if (!reasoningApart || !isObject(usage)) return body
  const { prompt_tokens: prompt, completion_tokens: completion = 0, total_tokens: total } = usage
  if (typeof prompt !== 'number' || typeof completion !== 'number' || typeof total !== 'number') return body
  if (total <= prompt + completion) return body
  return { ...body, usage: { ...usage, completion_tokens: total - prompt } }
}

function at (body: JsonObject, path: readonly string[]): unknown {
  let found: unknown = body
  for (const key of path) found = isObject(found) ? found[key] : undefined
  return found
}
