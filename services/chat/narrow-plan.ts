import type { ChatProvider } from '../providers/provider.ts'
import type { Candidate, Plan } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'

type Candidates = Plan<Candidate<ChatProvider>>

/** A plan without the candidates that are not kept. None of those that were requested may be left. */
export function keepOnly<C extends Candidate> (plan: Plan<C>, isKept: (candidate: C) => boolean): Plan<C> {
  return { ...plan, requested: plan.requested.filter(isKept), fallbacks: () => fallbacksWith(plan, isKept) }
}

function * fallbacksWith<C extends Candidate> (
  plan: Plan<C>, isKept: (candidate: C) => boolean
): Generator<readonly C[]> {
  for (const candidates of plan.fallbacks()) {
    const kept = candidates.filter(isKept)
    if (kept.length > 0) yield kept
  }
}

/**
 * A plan without the candidates that `refuse` refuses. A policy (`isFree`) may use any of its models; a
 * client that names one gets that one, or the error why it cannot be called.
 */
export function narrowPlan (
  plan: Candidates, refuse: (candidate: Candidate<ChatProvider>) => GatewayError | null, isFree: boolean
): Candidates {
  const kept = keepOnly(plan, candidate => refuse(candidate) === null)
  if (kept.requested.length > 0) return kept
  const [first, ...others] = isFree ? [...kept.fallbacks()] : []
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

type Speaks = (candidate: Candidate<ChatProvider>) => boolean

/**
 * A plan without the models that their provider does not serve through chat, unless it is asked in an API of
 * its own there (`speaks`). Throws GatewayError 404, as OpenAI does, when none of those asked for is left.
 */
export function onlyServed (plan: Candidates, speaks: Speaks = () => false): Candidates {
  const isServed: Speaks = candidate => {
    const { provider: { responsesOnly }, deployment } = candidate
    return responsesOnly?.test(deployment.model) !== true || speaks(candidate)
  }
  const kept = keepOnly(plan, isServed)
  if (kept.requested.length === 0) throw servedElsewhere(plan.model.id)
  return kept
}

function servedElsewhere (model: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error',
    `The model \`${model}\` is only supported in v1/responses.`, { param: 'model', code: 'unsupported_endpoint' })
}
