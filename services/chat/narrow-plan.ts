import type { ChatProvider } from '../providers/provider.ts'
import type { Candidate, Plan } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'
import { fallbacksWith } from './request-checks.ts'

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
  const [first, ...others] = isFree ? [...fallbacks()] : []
  if (first !== undefined) return planOf(plan, first, others)
  const [candidate] = plan.requested
  throw (candidate === undefined ? null : refuse(candidate)) ?? GatewayError.modelNotFound(plan.model.id)
}

/** A plan of a policy whose models that suit come first, each group in its order. */
export function preferring (
  plan: Candidates, suits: (candidate: Candidate<ChatProvider>) => boolean
): Candidates {
  const models = [plan.requested, ...plan.fallbacks()]
  const able = models.filter(candidates => candidates.some(suits))
  const [first = plan.requested, ...others] = [...able, ...models.filter(one => !able.includes(one))]
  return planOf(plan, first, others)
}

function planOf (
  { model }: Candidates, first: Candidates['requested'], others: readonly Candidates['requested'][]
): Candidates {
  return { model: first[0]?.model ?? model, requested: first, fallbacks: () => others }
}
