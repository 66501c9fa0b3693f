/** What a request to a model must keep to. */
export interface AnthropicTraits {
  /** Most tokens of one answer; the API wants every request to name a limit. */
  maxOutput: number
  /** Whether `temperature`, `top_p` and `top_k` may be set. */
  sampling: boolean
  /** How thinking is asked for: by effort, by a budget of tokens, or not at all. */
  thinking: 'adaptive' | 'budget' | 'none'
  /** What stands for no thinking; null where the model cannot do without. */
  noThinking: 'disabled' | 'between_tools' | null
  /** Whether there is an effort between `high` and `max`. */
  xhighEffort: boolean
  /** Whether a tool may be forced. */
  forcedTools: boolean
  /** Whether an answer can be held to a JSON schema. */
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
 * Families by what their names contain, the first that matches. Source: @ai-sdk/anthropic 4.0.105, model
 * catalogue; mythos is taken for what fable of the same number is.
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

/** The traits of a model by its name at the provider. */
export function anthropicTraitsOf (model: string): AnthropicTraits {
  const known = families.find(([name]) => name.test(model))?.[1]
  return known ?? (model.includes('claude') ? newest : other)
}

/**
 * The newer a model, the more it refuses: what the newest are known to take suits one that is newer still.
 */
const newest: AnthropicTraits = { ...alwaysThinking, maxOutput: 32_000 }
/** Other makers' models behind the same protocol. */
const other: AnthropicTraits = { ...unstructured, maxOutput: 8192 }
