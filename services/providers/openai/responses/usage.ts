import { isObject, isText, type JsonObject } from '../../../shared/json.ts'
import type { StreamReport, Usage } from '../../report.ts'
import { countsIn, openaiUsage, tokenCount, valueAt } from '../../usage.ts'
import type { Dialect } from '../dialects.ts'

/**
 * The usage of a response in the form of chat; null: none that can be charged. Input includes cached tokens,
 * output includes reasoning. Source: openai@7.55.0, ResponseUsage.
 */
export function chatUsage ({ usage }: JsonObject): JsonObject | null {
  if (!isObject(usage)) return null
  const input = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {}
  const output = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {}
  const [prompt, cached] = [tokenCount(usage.input_tokens), tokenCount(input.cached_tokens)]
  // xAI may count cached tokens apart: @ai-sdk/xai 3.0.138, convert-xai-responses-usage.ts.
  const isApart = prompt !== undefined && cached !== undefined && cached > prompt
  return openaiUsage({
    prompt_tokens: isApart ? prompt + cached : usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: isApart ? undefined : usage.total_tokens,
    prompt_tokens_details: input,
    completion_tokens_details: output
  })
}

/** The usage of a response, with its reported cost if any; null: none that can be charged. */
export function readResponseUsage (response: JsonObject, { cost }: Pick<Dialect, 'cost'>): Usage | null {
  const usage = chatUsage(response)
  if (usage === null) return null
  const counted = countsIn(usage)
  const costNano = cost === null || !isObject(response.usage) ? null : cost(response.usage)
  if (costNano !== null) counted.costNano = costNano
  return counted
}

/** Whether an item of the output is a search that has a fee: opening a page found before has none. */
export function isSearch (item: unknown): boolean {
  if (!isObject(item) || !isText(item.type) || !/^(web_search_call|openrouter:web_search)$/.test(item.type)) return false
  const { action } = item
  return !isObject(action) || action.type === undefined || action.type === 'search'
}

/** The searches of a response: as its provider counts them, but at least those among its items. */
export function countSearches (body: JsonObject, { searches }: Pick<Dialect, 'searches'>): number {
  const output: unknown[] = Array.isArray(body.output) ? body.output : []
  const counted = searches === null ? undefined : tokenCount(valueAt(body, searches.path))
  return Math.max(counted ?? 0, output.filter(isSearch).length)
}

/** Adds the text of a whole response to what was delivered. */
export function recordOutput ({ delivered }: StreamReport, output: readonly unknown[]): void {
  for (const item of output) {
    if (!isObject(item)) continue
    for (const parts of [item.summary, item.content]) {
      for (const part of Array.isArray(parts) ? parts : []) {
        for (const text of [part?.text, part?.refusal]) if (isText(text)) delivered.takeText(text)
      }
    }
    for (const text of [item.arguments, item.input, item.code]) if (isText(text)) delivered.takeText(text)
    if (item.type === 'image_generation_call') delivered.takeMedia(1, 0)
  }
}
