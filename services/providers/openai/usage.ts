import { isObject, type JsonObject } from '../../shared/json.ts'
import type { Dialect } from './dialects.ts'
import type { Usage } from '../provider.ts'
import { readUsage } from '../usage.ts'

const nanoPerUsd = 1e9

/** The usage in an answer or chunk, with its reported cost if any; null: none. */
export function readDialectUsage (body: JsonObject, dialect: Dialect): Usage | null {
  const usage = readUsage(countReasoning(body, dialect), dialect.usagePath)
  if (usage === null || dialect.cost === null) return usage
  const cost = at(body, dialect.cost.path)
  if (typeof cost !== 'number' || !(cost >= 0)) return usage
  return { ...usage, costNano: Math.round(cost * nanoPerUsd / dialect.cost.unitsPerUsd) }
}

/** The body with reasoning tokens counted in the completion, as OpenAI does; the same if they are. */
export function countReasoning (body: JsonObject, { reasoningApart }: Dialect): JsonObject {
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
