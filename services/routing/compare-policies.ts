import type { RoutingComparison, RoutingComparisonQuestion } from '../../schemas/openai/routing.ts'
import { GatewayError } from '../shared/errors.ts'
import { toDecisionResponse } from './decision-response.ts'
import type { Router } from './router.ts'
import type { RoutingRequest } from './types.ts'

/**
 * Returns the decision of each policy for one request, all candidates included. A policy that finds no model
 * has the error that a request to it would get.
 */
export function comparePolicies (
  router: Pick<Router, 'decide' | 'policies'>,
  question: RoutingComparisonQuestion,
  caller: Pick<RoutingRequest, 'key' | 'mayUse' | 'bodyBytes' | 'availableNano'>
): RoutingComparison {
  const candidates = question.candidates ?? null
  const decisions = router.policies().map(policy => {
    try {
      const request = { ...question, model: policy }
      const asked = { request, ...caller, conversation: null, candidates }
      const decision = router.decide(asked)
      return { policy, decision: toDecisionResponse(decision, true), error: null }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      return { policy, decision: null, error: { message: error.message, code: error.code } }
    }
  })
  return { object: 'routing.comparison', decisions }
}
