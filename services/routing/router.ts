import type { ModelConfig, PolicyConfig } from '../config/catalogue/types.ts'
import { conversationId } from '../shared/conversation.ts'
import { GatewayError } from '../shared/errors.ts'
import { isOnLists } from '../shared/regions.ts'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import { noModelQualifies, type UnmetByModel } from './constraints.ts'
import { filterCandidates, modelsInReach } from './filter-candidates.ts'
import { bestOf, rankModels } from './rank.ts'
import { extractFeatures } from './request-features.ts'
import { confidenceOf, mainDomain, signalsOf } from './describe.ts'
import { tradeoffOf } from './policies.ts'
import { createModelPool, type ModelPool } from './model-pool.ts'
import { createTextAnalyzer } from './scoring/analyze-text.ts'
import { loadWeights, type RouterWeights } from './scoring/weights.ts'
import { createStickyModels, stick, type StickyModels } from './sticky.ts'
import type { DeploymentStates, RoutingRequest, RouterDecision } from './types.ts'

export interface Router {
  /**
   * Ranks the models for a request to `auto` or `auto:…`. It calls no provider and stores nothing, so the
   * same state gives the same decision. Throws GatewayError 404 for an unknown policy, 400 when no model
   * qualifies.
   */
  decide (routing: RoutingRequest): RouterDecision
  /** Makes `model`, which answered, the sticky model of the conversation. */
  stick (decision: RouterDecision, model: string): void
  /** Removes the sticky model of the conversation after it failed. */
  unstick (decision: RouterDecision): void
  /** The chat models that a policy chooses from at first, for a key; none for an unknown policy. */
  inReach (policy: string, mayUse: RoutingRequest['mayUse']): readonly ModelConfig[]
}

/** The models and policies of the running configuration. `version` changes whenever they do. */
export interface RoutingCatalogue {
  version (): unknown
  models (): readonly ModelConfig[]
  policies (): readonly PolicyConfig[]
  /** Returns the public id of the model that an id or alias names. */
  resolve (id: string): string | undefined
  /** Whether a provider answers with canned text. */
  isSandbox (provider: string): boolean
  /** Where a provider processes requests; null: unknown. */
  regionOf (provider: string): string | null
  /** Whether a model is served through chat, rather than the Responses API alone. */
  servesChat: (model: ModelConfig) => boolean
  /** Which parameters of a request models would not meet; null if it needs none that some model lacks. */
  unmetParameters (request: ChatCompletionRequest): UnmetByModel | null
}

interface RouterOptions {
  catalogue: RoutingCatalogue
  deployments: DeploymentStates
  weights?: RouterWeights
  stickyModels?: StickyModels
}

/** Creates the router. Its weights are read on the first decision. */
export function createRouter (
  { catalogue, deployments, stickyModels = createStickyModels(), ...given }: RouterOptions
): Router {
  let analyzer: { weights: RouterWeights, analyze: ReturnType<typeof createTextAnalyzer> } | undefined
  let prepared: { version: unknown, pool: ModelPool } | undefined

  function createAnalyzer () {
    const weights = given.weights ?? loadWeights()
    return { weights, analyze: createTextAnalyzer(weights) }
  }

  function poolOf (weights: RouterWeights): ModelPool {
    const version = catalogue.version()
    if (prepared === undefined || prepared.version !== version) {
      const pool = createModelPool({
        models: catalogue.models(),
        policies: catalogue.policies(),
        isSandbox: catalogue.isSandbox
      }, weights)
      prepared = { version, pool }
    }
    return prepared.pool
  }

  function decide (routing: RoutingRequest): RouterDecision {
    const startedMs = performance.now()
    const { weights, analyze } = analyzer ??= createAnalyzer()
    const pool = poolOf(weights)
    const id = routing.request.model
    const policy = pool.policies.get(id)
    if (policy === undefined) throw GatewayError.modelNotFound(id)

    const request = extractFeatures(routing.request)
    const text = analyze(request.focus, request)
    const costQuality = routing.request.routing?.cost_quality ?? null
    const conversation = `${id} ${costQuality ?? ''} ${conversationId(routing.key, routing.request, routing.conversation)}`
    const sticky = request.hasReplies ? stickyModels.get(conversation) : undefined
    const unmetBy = catalogue.unmetParameters(routing.request)
    const isAvailable: DeploymentStates['isAvailable'] = one => deployments.isAvailable(one, routing.key)
    const isServed = routing.isResponse === true ? () => true : catalogue.servesChat
    const lists = [routing.regions ?? null, policy.config.regions ?? null]
    const isInRegion = ({ deployments }: ModelConfig): boolean =>
      deployments.some(({ provider }) => isOnLists(catalogue.regionOf(provider), lists))
    const states = { ...deployments, isAvailable }
    const context = { request, text, deployments: states, weights, unmetBy, isServed, isInRegion }
    const requested = withList(routing)
    const select = (given: typeof context) => filterCandidates(requested, policy, pool, given, sticky?.model)
    const healthy = select(context)
    // When all that could serve it are failing, one of them may have recovered.
    const { possible, reserve, excluded } = healthy.possible.length > 0
      ? healthy
      : select({ ...context, deployments: { ...deployments, isAvailable: () => true } })
    if (possible.length === 0) {
      // Without the credit limit the hold decides, which knows the exact balance and answers 402.
      if (routing.availableNano !== null) return decide({ ...routing, availableNano: null })
      throw noModelQualifies(id, excluded(), listOf(routing))
    }

    const tradeoff = tradeoffOf(policy.config, costQuality)
    const { order, reason } = stick(
      rankModels(possible, tradeoff), sticky, request, costQuality === null ? id : null)
    return {
      policy: id,
      candidates: order.flatMap(one => pool.byId.get(one.id)?.model ?? []),
      reserve: rankModels(reserve, tradeoff).flatMap(one => pool.byId.get(one.id)?.model ?? []),
      ranked: order,
      reason,
      best: bestOf(order),
      ceilingNano: policy.config.ceilingNano,
      regions: policy.config.regions ?? null,
      confidence: confidenceOf(order, text),
      excluded,
      domain: mainDomain(text),
      task: text.task,
      signals: signalsOf(request, text),
      isSticky: reason === 'conversation' || reason === 'tool_loop',
      weightsVersion: weights.version,
      tookUs: Math.round((performance.now() - startedMs) * 1000),
      conversation
    }
  }

  /** The same with the public ids of the models on its own list, else on that of the request. */
  function withList (routing: RoutingRequest): RoutingRequest {
    const candidates = routing.candidates ?? routing.request.routing?.models ?? null
    if (candidates === null) return routing
    return { ...routing, candidates: candidates.map(id => catalogue.resolve(id) ?? id) }
  }

  return {
    decide,
    stick ({ conversation, ranked }, model) {
      const quality = ranked.find(({ id }) => id === model)?.quality
      if (quality !== undefined) stickyModels.set(conversation, { model, quality })
    },
    unstick ({ conversation }) { stickyModels.delete(conversation) },
    inReach (id, mayUse) {
      const { weights } = analyzer ??= createAnalyzer()
      const pool = poolOf(weights)
      const policy = pool.policies.get(id)
      return policy === undefined ? [] : modelsInReach(mayUse, policy, pool).filter(catalogue.servesChat)
    }
  }
}

/** The field in which a request lists its models; null if it lists none. */
function listOf ({ candidates, request }: RoutingRequest): string | null {
  if (candidates !== null) return 'candidates'
  return request.routing?.models == null ? null : 'routing.models'
}
