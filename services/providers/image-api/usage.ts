import { isObject, type JsonObject } from '../../shared/json.ts'
import type { ImageUsage } from '../provider-image.ts'

/** Token counts of a `usage` object with OpenAI's names for images or for chat; null if there are none. */
export function readImageUsage (usage: unknown): ImageUsage | null {
  if (!isObject(usage)) return null
  const input = countOf(usage.input_tokens) ?? countOf(usage.prompt_tokens)
  const output = countOf(usage.output_tokens) ?? countOf(usage.completion_tokens)
  if (input === null && output === null) return null
  const inputDetails = detailsOf(usage, 'input_tokens_details', 'prompt_tokens_details')
  const outputDetails = detailsOf(usage, 'output_tokens_details', 'completion_tokens_details')
  const inputImage = Math.min(countOf(inputDetails.image_tokens) ?? 0, input ?? 0)
  const outputImage = Math.min(countOf(outputDetails.image_tokens) ?? output ?? 0, output ?? 0)
  return {
    inputText: (input ?? 0) - inputImage,
    inputImage,
    output: outputImage,
    outputText: (output ?? 0) - outputImage
  }
}

/** The charge in a `usage` object, in nano-USD: `cost` in USD, or `cost_in_usd_ticks` of 0.1 nano-USD. */
export function readImageCost (usage: unknown): number | null {
  if (!isObject(usage)) return null
  const { cost, cost_in_usd_ticks: ticks } = usage
  if (isAmount(ticks)) return Math.ceil(ticks / 10)
  return isAmount(cost) ? Math.round(cost * 1e9) : null
}

const maxAmount = 1e15

function isAmount (value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < maxAmount
}

function detailsOf (usage: JsonObject, ...names: string[]): JsonObject {
  return names.map(name => usage[name]).find(isObject) ?? {}
}

function countOf (value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}
