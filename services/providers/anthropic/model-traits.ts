/** What a model accepts in a request. */
export interface AnthropicTraits {
  /** Most tokens of one answer. The API requires a limit in every request. */
  maxOutput: number
  sampling: boolean
  /** How thinking is configured: by effort, by a token budget, or not at all. */
  thinking: 'adaptive' | 'budget' | 'none'
  /** The value that turns thinking off; null where it cannot be. */
  noThinking: 'disabled' | 'between_tools' | null
  xhighEffort: boolean
  forcedTools: boolean
  /** Whether an answer can be constrained to a JSON schema. */
  structured: boolean
}

const adaptive: AnthropicTraits = {
  maxOutput: 128_000,
  sampling: true,
  thinking: 'adaptive',
  noThinking: 'disabled',
  xhighEffort: false,
  forcedTools: true,
  structured: true
}
const withoutSampling: AnthropicTraits = { ...adaptive, sampling: false, xhighEffort: true }
const alwaysThinking: AnthropicTraits = { ...withoutSampling, noThinking: null }
const unforced: AnthropicTraits = { ...alwaysThinking, forcedTools: false }
const budgeted: AnthropicTraits = { ...adaptive, maxOutput: 64_000, thinking: 'budget' }
const unstructured: AnthropicTraits = { ...budgeted, structured: false }
const early: AnthropicTraits = { ...unstructured, maxOutput: 4096, thinking: 'none' }

/**
 * The first match counts; mythos is assumed to behave as fable. Source: @ai-sdk/anthropic 4.0.105, read on
 * 2026-11-21.
 */
const families: readonly [RegExp, AnthropicTraits][] = [
  [/sonnet-5-5/, { ...unforced, noThinking: 'between_tools' }],
  [/opus-5-5/, unforced],
  [/(fable|mythos)-5-[1-9]/, unforced],
  [/fable|mythos/, alwaysThinking],
  [/opus-5|haiku-5|sonnet-5|opus-4-[78]/, withoutSampling],
  [/(sonnet|opus)-4-6/, adaptive],
  [/(sonnet|opus|haiku)-4-5/, budgeted],
  [/opus-4-1/, { ...budgeted, maxOutput: 32_000 }],
  [/sonnet-4|3-7-sonnet/, unstructured],
  [/opus-4/, { ...unstructured, maxOutput: 32_000 }],
  [/3-5-/, { ...early, maxOutput: 8192 }],
  [/claude-([123]|instant|v?2)([.-]|$)/, early]
]

/** The traits of a model, by its name at the provider. */
export function anthropicTraitsOf (model: string): AnthropicTraits {
  const known = families.find(([name]) => name.test(model))?.[1]
  return known ?? (model.includes('claude') ? newest : other)
}

/** For unknown Claude models: newer models accept less, so what the newest known one accepts is safe. */
const newest: AnthropicTraits = { ...alwaysThinking, maxOutput: 32_000 }
/** Models of other vendors behind the same protocol. */
const other: AnthropicTraits = { ...unstructured, maxOutput: 8192 }
