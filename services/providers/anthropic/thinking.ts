import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { isObject } from '../../shared/json.ts'
import type { AnthropicTraits } from './model-traits.ts'
import type { AnthropicEffort, Thinking, Turn } from './wire.ts'

interface Question {
  request: ChatCompletionRequest
  traits: AnthropicTraits
  turns: readonly Turn[]
  maxTokens: number
  /** Whether the model must call a tool. */
  isForced: boolean
}

interface Thought { thinking?: Thinking, effort?: AnthropicEffort }

/** The API's smallest thinking budget; it must be below `max_tokens`. */
const leastBudget = 1024
/** The share of `max_tokens` for thinking, by effort. */
const shares = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.8, max: 0.8 }

/** Thinking as requested, or Anthropic's own `thinking` field; adds to `dropped` what the model lacks. */
export function readThinking (question: Question, dropped: Set<string>): Thought {
  const { request, traits, maxTokens } = question
  const own = ownThinking(request)
  if (own !== null) return thinkingWithin(own, maxTokens)
  const { reasoning_effort: effort } = request
  if (effort === undefined || effort === null) return {}
  if (effort === 'none') return withoutThinking(traits, dropped)
  if (traits.thinking === 'adaptive') {
    return { thinking: { type: 'adaptive', display: 'summarized' }, effort: effortOf(effort, traits) }
  }
  const budget = traits.thinking === 'budget' ? budgetOf(effort, question) : null
  if (budget !== null) return { thinking: { type: 'enabled', budget_tokens: budget } }
  dropped.add('reasoning_effort')
  return {}
}

/** No more thoughts than the limit, which may be the gateway's; none if it leaves no room for them. */
function thinkingWithin (thinking: Thinking, maxTokens: number): Thought {
  if (thinking.type !== 'enabled' || thinking.budget_tokens < maxTokens) return { thinking }
  return maxTokens > leastBudget ? { thinking: { ...thinking, budget_tokens: maxTokens - 1 } } : {}
}

/** Whether the model will think; sampling parameters are then refused. */
export function isThinking ({ thinking }: Thought): boolean {
  return thinking !== undefined && thinking.type !== 'disabled'
}

function withoutThinking ({ thinking, noThinking }: AnthropicTraits, dropped: Set<string>): Thought {
  // Older models think only on request.
  if (thinking !== 'adaptive') return {}
  if (noThinking !== null) return { thinking: { type: noThinking } }
  dropped.add('reasoning_effort')
  return {}
}

function effortOf (effort: keyof typeof shares, { xhighEffort }: AnthropicTraits): AnthropicEffort {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && !xhighEffort ? 'high' : effort
}

/**
 * The thinking budget; null where the API refuses one: short answers, forced tools, lost thinking blocks.
 * Adaptive thinking is compatible with forced tools. Source: platform.claude.com, "Thinking with tool use",
 * August 2026.
 */
function budgetOf (effort: keyof typeof shares, { maxTokens, isForced, turns }: Question): number | null {
  if (isForced || hasLostThoughts(turns) || maxTokens <= leastBudget) return null
  return Math.min(maxTokens - 1, Math.max(leastBudget, Math.floor(maxTokens * shares[effort])))
}

/** Whether tool results are sent back without the thinking that led to the calls. */
function hasLostThoughts (turns: readonly Turn[]): boolean {
  const [before, last] = turns.slice(-2)
  if (last?.role !== 'user' || !last.content.some(({ type }) => type === 'tool_result')) return false
  const first = before?.content[0]?.type
  return first !== 'thinking' && first !== 'redacted_thinking'
}

function ownThinking (request: ChatCompletionRequest): Thinking | null {
  const { thinking }: ChatCompletionRequest & { thinking?: unknown } = request
  if (!isObject(thinking)) return null
  const { type, budget_tokens: budget, display } = thinking
  if (type === 'enabled' && typeof budget === 'number') return { type, budget_tokens: budget }
  if (type === 'disabled' || type === 'between_tools') return { type }
  if (type !== 'adaptive') return null
  return display === 'summarized' || display === 'omitted' ? { type, display } : { type }
}
