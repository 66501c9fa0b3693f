import type { Price } from '../config/catalogue/types.ts'
import type { Usage } from '../providers/report.ts'
import type { GeneratedImages } from '../providers/provider-image.ts'
import { nanoFromPico } from '../shared/money.ts'
import { videoCostNano } from './video-price.ts'

/** What images cost the operator, of those the client gets and of others alike. */
export function imagesCostNano (cost: Price | null, { usage, images }: GeneratedImages): number | undefined {
  if (cost === null) return undefined
  if (cost.imageNano !== null) return bounded(cost.imageNano * images.length)
  if (cost.inputPico === null || cost.outputPico === null || usage === null) return undefined
  const { inputText, inputImage, output, outputText } = usage
  return nanoFromPico((inputText + inputImage) * cost.inputPico + (output + outputText) * cost.outputPico)
}

/** What seconds of video cost the operator; `secondNano` is null without a cost price. */
export function secondsCostNano (secondNano: number | null, seconds: number): number | undefined {
  return secondNano === null ? undefined : videoCostNano(secondNano, seconds)
}

/** What providers report for several calls; undefined unless each of them reports a cost. */
export function reportedSum (calls: readonly Usage[]): number | undefined {
  let sum = 0
  for (const { costNano } of calls) {
    if (costNano === undefined) return undefined
    sum += costNano
  }
  return bounded(sum)
}

function bounded (nano: number): number {
  return Math.min(nano, Number.MAX_SAFE_INTEGER)
}
