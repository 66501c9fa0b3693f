import type { ModelConfig, PolicyConfig } from '../catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import { assess } from './filter-candidates.ts'
import { rank } from './rank.ts'
import { conversationOf } from './conversation.ts'
import { confidenceOf, mainDomain, signalsOf } from './describe.ts'
import { tradeoffOf } from './policies.ts'
import { createPool, type Pool } from './pool.ts'
import { nothingQualifies } from './refusals.ts'
import { createUnderstanding } from './scoring/understand.ts'
import { loadWeights, type Weights } from './scoring/weights.ts'
import { settle } from './sticky-choice.ts'
import { conversationKey, createStickiness, type Stickiness } from './sticky.ts'
import type { Deployments, Question, Decision } from './types.ts'
import type { Offsets } from './feedback/types.ts'

export interface Router {
  /**
   * Decides which models to try for a request to `auto` or `auto:…`; makes no call and remembers nothing.
   * The same question gives the same answer, as long as nothing new is known. Throws GatewayError 404 for an
   * unknown policy, 400 when no model qualifies.
   */
  decide (question: Question): Decision
  /** Remembers which model of a decision answered, so that the conversation can stay with it. */
  keep (decision: Decision, model: string): void
  /** Lets the conversation go elsewhere, because its model has failed it. */
  release (decision: Decision): void
}

/** The models and policies of the running configuration. `version` changes whenever they do. */
export interface Offer {
  version (): unknown
  models (): readonly ModelConfig[]
  policies (): readonly PolicyConfig[]
  /** The public id of what serves an id, which may be one of its other names. */
  resolve (id: string): string | undefined
  offsets (): Offsets
}

interface RouterOptions {
  offer: Offer
  deployments: Deployments
  weights?: Weights
  stickiness?: Stickiness
}

/** Creates the router. Its weights are read when the first request asks it to choose. */
export function createRouter (
  { offer, deployments, stickiness = createStickiness(), ...given }: RouterOptions
): Router {
  let scorer: { weights: Weights, understand: ReturnType<typeof createUnderstanding> } | undefined
  let prepared: { version: unknown, pool: Pool } | undefined

  function scorerOf () {
    const weights = given.weights ?? loadWeights()
    scorer ??= { weights, understand: createUnderstanding(weights) }
    return scorer
  }

  function poolOf (weights: Weights): Pool {
    const version = offer.version()
    if (prepared?.version !== version) {
      prepared = { version, pool: createPool(offer.models(), offer.policies(), weights, offer.offsets()) }
    }
    return (prepared as { pool: Pool }).pool
  }

  function decide (question: Question): Decision {
    const startedMs = performance.now()
    const { weights, understand } = scorer ?? scorerOf()
    const pool = poolOf(weights)
    const id = question.request.model
    const policy = pool.policies.get(id)
    if (policy === undefined) throw GatewayError.modelNotFound(id)

    const request = conversationOf(question.request)
    const text = understand(request.focus, request)
    const conversation = conversationKey(question.key, id, question.conversation, question.request)
    const stay = request.hasAnswers ? stickiness.find(conversation) : undefined
    const outlook = { request, text, deployments, weights }
    const { possible, excluded } = assess(withPublicIds(question), policy, pool, outlook, stay?.model)
    if (possible.length === 0) {
      // That the money does not suffice is for admission to say, which knows it exactly.
      if (question.availableNano !== null) return decide({ ...question, availableNano: null })
      throw nothingQualifies(id, excluded())
    }

    const { order, reason } = settle(rank(possible, tradeoffOf(policy.config)), stay, request, id)
    return {
      policy: id,
      candidates: order.flatMap(one => pool.byId.get(one.id)?.model ?? []),
      scored: order,
      reason,
      confidence: confidenceOf(order, text),
      excluded,
      domain: mainDomain(text),
      signals: signalsOf(request, text),
      isSticky: reason === 'conversation' || reason === 'tool_loop',
      weightsVersion: weights.version,
      tookUs: Math.round((performance.now() - startedMs) * 1000),
      conversation
    }
  }

  function withPublicIds (question: Question): Question {
    const { candidates } = question
    return candidates === null
      ? question
      : {
          ...question,
          candidates: candidates.map(
            id => offer.resolve(id) ?? id
          )
        }
  }

  return {
    decide,
    keep ({ conversation, scored }, model) {
      const quality = scored.find(({ id }) => id === model)?.quality
      if (quality !== undefined) stickiness.keep(conversation, { model, quality })
    },
    release: ({ conversation }) => stickiness.forget(conversation)
  }
}
