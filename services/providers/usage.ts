import { UpstreamError } from '../shared/errors.ts'
import { isObject, withMembers, type JsonObject } from '../shared/json.ts'
import type { Usage } from './report.ts'

// The one reader of token counts in OpenAI's form. Servers count the same tokens under many names:
// `openaiUsage` moves them to OpenAI's, so that the charge and every client's API read the same numbers.

type Path = readonly string[]

/**
 * Where servers count the tokens of OpenAI's details; the largest count is right, as some of them fill the
 * other names with zeros. Sources: @ai-sdk/moonshotai 2.0.61, deepseek 2.0.69 and alibaba 1.0.61; litellm
 * 1.110.2, types/utils.py; @mistralai/mistralai and SGLang, UsageInfo.
 */
const sources: Readonly<Record<'prompt_tokens_details' | 'completion_tokens_details', Record<string, Path[]>>> = {
  prompt_tokens_details: {
    cached_tokens: [
      ['cached_tokens'], ['prompt_cache_hit_tokens'], ['cache_read_input_tokens'], ['num_cached_tokens'],
      ['prompt_token_details', 'cached_tokens'],
      ['prompt_tokens_details', 'cache_read_input_tokens'], ['input_tokens_details', 'cached_tokens']
    ],
    cache_write_tokens: [
      ['cache_creation_input_tokens'],
      ['prompt_tokens_details', 'cache_creation_input_tokens'], ['prompt_tokens_details', 'cache_creation_tokens']
    ],
    cache_write_1h_tokens: [
      ['prompt_tokens_details', 'cache_creation_token_details', 'ephemeral_1h_input_tokens'],
      ['cache_creation', 'ephemeral_1h_input_tokens']
    ],
    audio_tokens: [['input_tokens_details', 'audio_tokens']]
  },
  completion_tokens_details: {
    reasoning_tokens: [['reasoning_tokens'], ['output_tokens_details', 'reasoning_tokens']],
    audio_tokens: [['output_tokens_details', 'audio_tokens']]
  }
}

/** No call has more tokens: a larger count is wrong, and the sums of reports stay exact. */
const maxTokens = 2 ** 32

/** A count of tokens as a provider reports it; undefined unless it is a whole number that can be one. */
export function tokenCount (value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxTokens
  return isCount ? value : undefined
}

/** The count of a prompt's tokens in a response that has nothing else. Throws UpstreamError without one. */
export function countOfPrompt (value: unknown): number {
  const count = tokenCount(value)
  if (count === undefined) throw new UpstreamError('bad_reply', 'yes', 'The provider has not counted the tokens.')
  return count
}

/** The value at a path of keys; undefined if there is none. */
export function valueAt (body: JsonObject, path: Path): unknown {
  return path.reduce<unknown>((found, key) => isObject(found) ? found[key] : undefined, body)
}

/** The token counts in a response or chunk as they are, which some servers have in a choice; null: none. */
export function usageIn (body: JsonObject, path: Path = ['usage']): JsonObject | null {
  const there = valueAt(body, path)
  if (isObject(there)) return there
  if (isObject(body.usage)) return body.usage
  const choices = Array.isArray(body.choices) ? body.choices : []
  return choices.map(choice => choice?.usage).find(isObject) ?? null
}

/**
 * Token counts in OpenAI's form: under its names, with a total, without what is no count; the same object if
 * nothing has to change. Null if the tokens of prompt or completion are missing or no counts.
 * `isReasoningApart`: the server counts all that it generates in the total, but not in the completion.
 */
export function openaiUsage (usage: JsonObject, isReasoningApart = false): JsonObject | null {
  const total = tokenCount(usage.total_tokens)
  const prompt = tokenCount(usage.prompt_tokens) ?? rest(total, usage.completion_tokens)
  const visible = tokenCount(usage.completion_tokens) ?? rest(total, usage.prompt_tokens)
  // One count alone is not enough: the other would be free.
  if (prompt === undefined || visible === undefined) return null
  const members: JsonObject = {}
  for (const name in usage) {
    if (name.endsWith('_tokens') && tokenCount(usage[name]) === undefined) members[name] = undefined
  }
  members.prompt_tokens_details = detailsIn(usage, 'prompt_tokens_details')
  const details = detailsIn(usage, 'completion_tokens_details')
  members.completion_tokens_details = details
  const thoughts = tokenCount(details?.reasoning_tokens) ?? 0
  const isApart = isReasoningApart
    ? total !== undefined
    : isCountedApart(thoughts, { prompt, visible, total })
  const completion = isApart ? Math.max(visible, (total ?? prompt + visible + thoughts) - prompt) : visible
  if (!Number.isFinite(usage.cost)) members.cost = undefined
  Object.assign(members, { prompt_tokens: prompt, completion_tokens: completion })
  if (total === undefined || isApart) members.total_tokens = prompt + completion
  return withMembers(usage, members)
}

/** Whether the thoughts are beside the completion: by the total if there is one. */
function isCountedApart (
  thoughts: number, { prompt, visible, total }: { prompt: number, visible: number, total: number | undefined }
): boolean {
  return thoughts > 0 && (total === undefined ? thoughts > visible : total === prompt + visible + thoughts)
}

/** The details of a usage with those that have other names; undefined if there are none. */
function detailsIn (usage: JsonObject, group: keyof typeof sources): JsonObject | undefined {
  const given = isObject(usage[group]) ? usage[group] : {}
  const members: JsonObject = {}
  for (const name in given) if (tokenCount(given[name]) === undefined) members[name] = undefined
  for (const [name, paths] of Object.entries(sources[group])) {
    const counts = paths.map(path => tokenCount(valueAt(usage, path))).filter(count => count !== undefined)
    if (counts.length > 0) members[name] = Math.max(tokenCount(given[name]) ?? 0, ...counts)
  }
  const details = withMembers(given, members)
  return details === usage[group] || Object.keys(details).length > 0 ? details : undefined
}

/** Usage in OpenAI's form, whose counts never fall below those of an earlier usage of the same stream. */
export function risenUsage (now: JsonObject, before: JsonObject | null): JsonObject {
  if (before === null) return now
  const members: JsonObject = {}
  for (const [name, value] of Object.entries(before)) {
    const later = now[name]
    if (isObject(value)) members[name] = risenUsage(isObject(later) ? later : {}, value)
    else if (typeof value === 'number') members[name] = typeof later === 'number' ? Math.max(value, later) : value
  }
  const risen = withMembers(now, members)
  if (risen === now || !('total_tokens' in risen)) return risen
  const sum = Number(risen.prompt_tokens) + Number(risen.completion_tokens)
  return { ...risen, total_tokens: Math.max(Number(risen.total_tokens), sum) }
}

/** Counts in OpenAI's form as the ledger takes them; most responses report zero audio tokens. */
export function countsIn (usage: JsonObject): Usage {
  const count = (...path: string[]): number | undefined => tokenCount(valueAt(usage, path))
  const counts: Usage = {
    prompt: count('prompt_tokens') ?? 0,
    completion: count('completion_tokens') ?? 0,
    cachedRead: count('prompt_tokens_details', 'cached_tokens'),
    cacheWrite: count('prompt_tokens_details', 'cache_write_tokens'),
    reasoning: count('completion_tokens_details', 'reasoning_tokens')
  }
  const cacheWrite1h = count('prompt_tokens_details', 'cache_write_1h_tokens')
  const audioInput = count('prompt_tokens_details', 'audio_tokens') ?? 0
  const audioOutput = count('completion_tokens_details', 'audio_tokens') ?? 0
  if (cacheWrite1h !== undefined) counts.cacheWrite1h = cacheWrite1h
  if (audioInput > 0) counts.audioInput = audioInput
  if (audioOutput > 0) counts.audioOutput = audioOutput
  return counts
}

/** The counts of a response or chunk whose `usage` has OpenAI's form, or nearly; null when there are none. */
export function readUsage ({ usage }: JsonObject): Usage | null {
  const whole = isObject(usage) ? openaiUsage(usage) : null
  return whole === null ? null : countsIn(whole)
}

function rest (total: number | undefined, other: unknown): number | undefined {
  const part = tokenCount(other)
  return total === undefined || part === undefined || part > total ? undefined : total - part
}
