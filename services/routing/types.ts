import type { DeploymentConfig, ModelConfig, PolicyConfig } from '../catalogue/types.ts'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Scored } from './rank.ts'

/** What the router has to know of deployments: never waits, never changes anything. */
export interface Deployments {
  isAvailable (deployment: Pick<DeploymentConfig, 'provider' | 'model'>): boolean
  expected (provider: string, model: string, seed?: Seed): { firstTokenMs: number, tokensPerSecond: number }
}

export interface Seed { firstTokenMs: number, tokensPerSecond: number }

/** One request to route, and who asks. */
export interface Question {
  request: ChatCompletionRequest
  /** Id of the key. */
  key: string
  mayUse (model: string): boolean
  /** The client's own name of the conversation; null: it is known by how it begins. */
  conversation: string | null
  /** The only models to choose from; null: all that the policy allows. */
  candidates: readonly string[] | null
  /** What the payer can still spend, in nano-USD; null: not known. */
  availableNano: number | null
}

/** Why the first candidate is the first. */
export type Reason =
  'only_candidate' | 'best_balance' | 'cheapest_good_enough' | 'best_quality' | 'fastest_good_enough' |
  'conversation' | 'tool_loop'

/** A model that cannot take the request. */
export interface Exclusion { model: string, constraint: Constraint }

/** A decision with all that led to it. */
export interface Decision {
  policy: string
  /** The models to try, best first; never empty. */
  candidates: readonly ModelConfig[]
  /** What is expected of each of them, in the same order. */
  scored: readonly Scored[]
  reason: Reason
  /** The chance that the first really is the best, as far as the figures are to be trusted; 0.5 to 1. */
  confidence: number
  /** The models that were left out; found anew with each call. */
  excluded: () => Exclusion[]
  domain: string
  signals: Readonly<Record<string, number | boolean>>
  isSticky: boolean
  weightsVersion: string
  /** Microseconds. */
  tookUs: number
  /** What the conversation is remembered by. */
  conversation: string
}

/** A policy and the models it may choose from. */
export interface Policy {
  config: PolicyConfig
  allows (model: string): boolean
}

/** What the client is told of a constraint, after the name of the model that it removed. */
export const constraintTexts = {
  unknown: 'is not served here',
  candidates: 'is not among the given candidates',
  kind: 'is no chat model',
  policy: 'is not on the list of this policy',
  key: 'is not allowed for this key',
  price: 'has no price',
  health: 'is failing at the moment',
  context_window: 'has a context window too small for this conversation',
  max_output: 'cannot write as many tokens as are asked for',
  vision: 'cannot read images',
  audio: 'cannot process audio',
  files: 'cannot read files',
  tools: 'cannot call tools',
  json_schema: 'cannot keep to a JSON schema',
  streaming: 'cannot stream',
  ceiling: 'may cost more than a request may cost under this policy',
  credit: 'costs more than is left'
} as const

/** Why a model cannot take a request; of several the first is told. */
export type Constraint = keyof typeof constraintTexts
