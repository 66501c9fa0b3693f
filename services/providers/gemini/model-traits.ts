import type { ThinkingConfig } from './wire.ts'

/** How models differ in what they accept. */
export interface GeminiTraits {
  /** Thinking configuration by OpenAI's effort; null: thinking is not configurable. */
  efforts: Readonly<Record<GeminiEffort, ThinkingConfig>> | null
  canStopThinking: boolean
  takesSystem: boolean
  /** Whether a replayed function call must carry the signature of the thought that led to it. */
  wantsSignatures: boolean
  takesPenalties: boolean
}

export type GeminiEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** For Gemini 2.5; the budgets are the model's own limits. */
function budgets (minBudget: number, maxBudget: number): Record<GeminiEffort, ThinkingConfig> {
  const max = { thinkingBudget: maxBudget }
  const low = { thinkingBudget: 1024 }
  return {
    none: { thinkingBudget: minBudget },
    minimal: low,
    low,
    medium: { thinkingBudget: 8192 },
    high: { thinkingBudget: 24_576 },
    xhigh: max,
    max
  }
}

/** For Gemini 3 and later, which always think; some models have no level below `LOW`. */
function levels (least: 'MINIMAL' | 'LOW'): Record<GeminiEffort, ThinkingConfig> {
  const high = { thinkingLevel: 'HIGH' }
  return {
    none: { thinkingLevel: least },
    minimal: { thinkingLevel: least },
    low: { thinkingLevel: 'LOW' },
    medium: { thinkingLevel: 'MEDIUM' },
    high,
    xhigh: high,
    max: high
  }
}

const newest: GeminiTraits = {
  efforts: levels('MINIMAL'), canStopThinking: false, takesSystem: true, wantsSignatures: true, takesPenalties: true
}
const newestPro: GeminiTraits = { ...newest, efforts: levels('LOW') }
const older: GeminiTraits = { ...newest, efforts: null, wantsSignatures: false }
const flash25: GeminiTraits = {
  ...older, efforts: budgets(0, 24_576), canStopThinking: true, takesPenalties: false
}

/** The first match counts. Source: ai.google.dev, "Thinking"; @ai-sdk/google 4.0.121; read on 2026-11-21. */
const rows: readonly [RegExp, GeminiTraits][] = [
  [/^gemma-/, { ...older, takesSystem: false }],
  [/^gemini-(1|2\.0|pro)\b/, older],
  [/^gemini-2\.5-.*(image|tts)/, { ...older, takesPenalties: false }],
  [/^gemini-2\.5-pro/, { ...flash25, efforts: budgets(128, 32_768), canStopThinking: false }],
  [/^gemini-(2\.5|robotics-er-1\.5)/, flash25],
  [/^gemini-\d+(\.\d+)?-pro\b/, newestPro],
  [/^gemini-(3\.([7-9]|\d\d)|[4-9]\.\d+)-flash(?!-lite)/, newestPro],
  [/^gemini-(flash|pro)-latest/, newestPro],
  [/^gemini-/, newest],
  [/^/, { ...older, wantsSignatures: true }]
]

/** The traits of a model, by its name at the provider. */
export function geminiTraitsOf (model: string): GeminiTraits {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return rows.find(([pattern]) => pattern.test(name))?.[1] ?? newest
}
