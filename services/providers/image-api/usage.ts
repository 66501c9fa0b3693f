import { isObject, type JsonObject } from '../../shared/json.ts'
import { tokenCount } from '../usage.ts'
import { openRouterCost, reportedCost } from '../reported-cost.ts'
import type { ImageUsage } from '../provider-image.ts'

/**
 * Token counts of a `usage` object with OpenAI's names for images or for chat; null unless it counts both the
 * input and the output, which no image is without.
 */
export function readImageUsage (usage: unknown): ImageUsage | null {
  if (!isObject(usage)) return null
  const input = tokenCount(usage.input_tokens ?? usage.prompt_tokens)
  const output = tokenCount(usage.output_tokens ?? usage.completion_tokens)
  if (input === undefined || output === undefined || output === 0) return null
  const inputDetails = detailsOf(usage, 'input_tokens_details', 'prompt_tokens_details')
  const outputDetails = detailsOf(usage, 'output_tokens_details', 'completion_tokens_details')
  const inputImage = Math.min(tokenCount(inputDetails.image_tokens) ?? 0, input)
  const outputImage = Math.min(tokenCount(outputDetails.image_tokens) ?? output, output)
  return { inputText: input - inputImage, inputImage, output: outputImage, outputText: output - outputImage }
}

/** The charge in a `usage` object, in nano-USD: `cost` in USD, or `cost_in_usd_ticks` of 0.1 nano-USD. */
export function readImageCost (usage: unknown): number | null {
  if (!isObject(usage)) return null
  return reportedCost(usage.cost_in_usd_ticks, 0.1) ?? openRouterCost(usage)
}

function detailsOf (usage: JsonObject, ...names: string[]): JsonObject {
  return names.map(name => usage[name]).find(isObject) ?? {}
}
