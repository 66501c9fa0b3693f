import type { DeploymentConfig, ModelConfig, PolicyConfig } from '../config/catalogue/types.ts'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Exclusion } from './constraints.ts'
import type { RegionList } from '../shared/regions.ts'
import type { RankedModel } from './rank.ts'

/** Health and speed of the deployments; reading them changes nothing. */
export interface DeploymentStates {
  /** For an API key: the failures of one close a deployment for that key alone. */
  isAvailable (deployment: Pick<DeploymentConfig, 'provider' | 'model'>, key?: string): boolean
  expected (provider: string, model: string, seed?: SpeedSeed): SpeedSeed
}

/** The speed to assume before anything was measured. */
export interface SpeedSeed { firstTokenMs: number, tokensPerSecond: number }

/** One request to route, and the limits of its caller. */
export interface RoutingRequest {
  request: ChatCompletionRequest
  /** Id of the API key. */
  key: string
  mayUse (model: string): boolean
  /** Where the key's requests may be processed; absent: anywhere. */
  regions?: RegionList
  /** The client's own name of the conversation, from a header; null: see `conversationId`. */
  conversation: string | null
  /** The only models to choose from; null: all that the policy allows. */
  candidates: readonly string[] | null
  /** Whether it came to the Responses API, which has models of its own. */
  isResponse?: boolean
  /** The length of the request as received; absent: that of its JSON. */
  bodyBytes?: number
  /** What the payer can still spend, in nano-USD; null: unknown. */
  availableNano: number | null
}

/** Why the first candidate is the first. */
export type RoutingReason =
  'only_candidate' | 'best_balance' | 'cheapest_good_enough' | 'best_quality' | 'fastest_good_enough' |
  'conversation' | 'tool_loop'

/** A decision and everything that led to it. */
export interface RouterDecision {
  policy: string
  /** The models to try, best first; never empty. */
  candidates: readonly ModelConfig[]
  /** Models that would drop a parameter which the candidates take, best first: the last resort. */
  reserve: readonly ModelConfig[]
  /** The estimates of the candidates, in the same order. */
  ranked: readonly RankedModel[]
  reason: RoutingReason
  /** The candidate of the best quality, the cheapest of several: savings are measured against it. */
  best: RankedModel
  /** The most that the request may cost by its policy; null: no limit. */
  ceilingNano: number | null
  /** Where the policy's requests may be processed. */
  regions: RegionList
  /** The chance that the first is better than the second, given the uncertainty of the scores; 0.5 to 1. */
  confidence: number
  /** The models that were left out; computed on each call. */
  excluded: () => Exclusion[]
  domain: string
  /** What the prompt asks for, e.g. `translate` or `prove`. */
  task: string
  signals: Readonly<Record<string, number | boolean>>
  isSticky: boolean
  weightsVersion: string
  /** Microseconds. */
  tookUs: number
  /** Key of the conversation in the sticky models. */
  conversation: string
}

/** A policy and the models it may choose from. */
export interface RoutingPolicy {
  config: PolicyConfig
  /**
   * By model id, how late it comes into question: 0 at once, more only where there is no model of a lower
   * rank. Absent: never.
   */
  ranks: ReadonlyMap<string, number>
}
