import type { AwsOptions } from '../../../schemas/config/providers.ts'

/** The prefix of a cross-region inference profile. Source: docs.aws.amazon.com, "Inference profiles". */
const geography = /^(us-gov|us|eu|apac|au|jp|ca|in|sa|global)\./

/**
 * The foundation model behind an id or ARN, without its geography: `anthropic.claude-opus-5` for
 * `eu.anthropic.claude-opus-5`. An ARN that does not name it, such as that of provisioned throughput, is
 * looked up in `arns`; unknown ones are returned as they are.
 */
export function foundationModel (id: string, arns: AwsOptions['arns'] = null): string {
  const known = arns?.[id]
  if (known !== undefined) return foundationModel(known)
  const [, named] = /^arn:[^:]*:bedrock:[^:]*:[^:]*:(?:foundation-model|inference-profile)\/(.+)$/.exec(id) ?? []
  return (named ?? id).replace(geography, '')
}

const claude = /^anthropic\.claude/

/** Whether a foundation model takes Anthropic's Messages API as the body of InvokeModel. */
export const isClaude = (name: string): boolean => claude.test(name)

/** The ids of models that take that API. */
export function claudeIds (arns: AwsOptions['arns'] = null): RegExp {
  const behindArns = Object.entries(arns ?? {}).filter(([, name]) => isClaude(foundationModel(name)))
  const exact = behindArns.map(([arn]) => `^${RegExp.escape(arn)}$`)
  return new RegExp(['(^|[./])anthropic\\.claude', ...exact].join('|'))
}

/** What a model takes in Converse; all others are for the family that it belongs to. */
export interface ConverseTraits {
  /** The members of `additionalModelRequestFields` for an effort; null: it has none. */
  effort: ((effort: string) => object) | null
  /** The same for a number of tokens to choose from. */
  topK: ((tokens: number) => object) | null
  cachePoints: boolean
  /** Whether answers can be constrained to a JSON schema. */
  structured: boolean
}

const plain: ConverseTraits = { effort: null, topK: null, cachePoints: false, structured: false }
const nova: ConverseTraits = { ...plain, topK: topK => ({ inferenceConfig: { topK } }), cachePoints: true }
const open: ConverseTraits = { ...plain, structured: true }
const threeLevels = (effort: string): string =>
  effort === 'minimal' ? 'low' : ['xhigh', 'max'].includes(effort) ? 'high' : effort

/**
 * The first match counts. Sources: docs.aws.amazon.com, "Get validated JSON results", "Prompt caching" and
 * "Nova 2, extended thinking", November 2026.
 */
const families: readonly [RegExp, ConverseTraits][] = [
  [claude, { effort: null, topK: tokens => ({ top_k: tokens }), cachePoints: true, structured: true }],
  [/^amazon\.nova-2/, {
    ...nova,
    effort: effort => ({ reasoningConfig: { type: 'enabled', maxReasoningEffort: threeLevels(effort) } })
  }],
  [/^amazon\.nova/, nova],
  [/^openai\./, { ...open, effort: effort => ({ reasoning_effort: threeLevels(effort) }) }],
  [/^(deepseek\.v3|google\.gemma|minimax\.|moonshotai?\.|nvidia\.|qwen\.|zai\.|mistral\.(ministral|magistral|voxtral|mistral-large-3))/, open]
]

export function converseTraitsOf (name: string): ConverseTraits {
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? plain
}
