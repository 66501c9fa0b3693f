import { fallbacksWith } from '../chat/request-checks.ts'
import type { ChatProvider } from '../providers/provider.ts'
import type { Candidate, Plan } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'

type Candidates = Plan<Candidate<ChatProvider>>

/**
 * A plan without the candidates that `refuse` refuses. A policy (`isFree`) may use any of its models; a
 * client that names one gets that one, or the error why it cannot be called.
 */
export function narrowPlan (
  plan: Candidates, refuse: (candidate: Candidate<ChatProvider>) => GatewayError | null, isFree: boolean
): Candidates {
  const suits = (candidate: Candidate<ChatProvider>): boolean => refuse(candidate) === null
  const fallbacks = () => fallbacksWith(plan, suits)
  const requested = plan.requested.filter(suits)
  if (requested.length > 0) return { ...plan, requested, fallbacks }
  const rest = isFree ? [...fallbacks()] : []
  const [first, ...others] = rest
  if (first !== undefined) {
    return { model: first[0]?.model ?? plan.model, requested: first, fallbacks: () => others }
  }
  const [candidate] = plan.requested
  throw (candidate === undefined ? null : refuse(candidate)) ?? GatewayError.modelNotFound(plan.model.id)
}
