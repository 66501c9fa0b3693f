import type { ThinkingConfig } from './wire.ts'

/** What sets the models behind this one API apart. */
export interface GeminiTraits {
  /** How each of OpenAI's efforts is asked for; null: the model does not think, or not on demand. */
  efforts: Readonly<Record<Effort, ThinkingConfig>> | null
  /** Whether the least effort means no thinking at all. */
  canStopThinking: boolean
  /** Whether there is a place for system messages. */
  takesSystem: boolean
  /** Whether a replayed function call must carry the signature of the thought that led to it. */
  wantsSignatures: boolean
  takesPenalties: boolean
}

export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** Of Gemini 2.5; the most is the model's own limit. */
function budgets (none: number, most: number): Record<Effort, ThinkingConfig> {
  const tokens = { none, minimal: 1024, low: 1024, medium: 8192, high: 24_576, xhigh: most, max: most }
  return {
    none: { thinkingBudget: tokens.none },
    minimal: { thinkingBudget: tokens.minimal },
    low: { thinkingBudget: tokens.low },
    medium: { thinkingBudget: tokens.medium },
    high: { thinkingBudget: tokens.high },
    xhigh: { thinkingBudget: tokens.xhigh },
    max: { thinkingBudget: tokens.max }
  }
}

/** Since Gemini 3, which always thinks; some models have no level below `LOW`. */
function levels (least: 'MINIMAL' | 'LOW'): Record<Effort, ThinkingConfig> {
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

/**
 * Traits by model name, the first row that matches counts. A name that is not known is taken for a newer
 * model than these. Source: ai.google.dev, "Thinking" and "OpenAI compatibility"; @ai-sdk/google 4.0.121.
 */
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

/** What is particular to a model, by its name at the provider. */
export function geminiTraitsOf (model: string): GeminiTraits {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return rows.find(([pattern]) => pattern.test(name))?.[1] ?? newest
}
