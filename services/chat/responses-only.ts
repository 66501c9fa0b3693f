import type { ChatProvider } from '../providers/provider.ts'
import type { Candidate, Plan } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'

type Speaks = (candidate: Candidate<ChatProvider>) => boolean

/**
 * A plan without the models that their provider does not serve through chat, unless it is asked in an API of
 * its own there (`speaks`). Throws GatewayError 404, as OpenAI does, when none of those asked for is left.
 */
export function onlyServed (
  plan: Plan<Candidate<ChatProvider>>, speaks: Speaks = () => false
): Plan<Candidate<ChatProvider>> {
  const isServed: Speaks = candidate => {
    const { provider: { responsesOnly }, deployment } = candidate
    return responsesOnly?.test(deployment.model) !== true || speaks(candidate)
  }
  const asked = plan.asked.filter(isServed)
  if (asked.length === 0) throw servedElsewhere(plan.model.id)
  return { model: plan.model, asked, fallbacks: () => servedFallbacks(plan, isServed) }
}

function * servedFallbacks (
  plan: Plan<Candidate<ChatProvider>>, isServed: Speaks
): Generator<readonly Candidate<ChatProvider>[]> {
  for (const candidates of plan.fallbacks()) {
    const served = candidates.filter(isServed)
    if (served.length > 0) yield served
  }
}

function servedElsewhere (model: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error',
    `The model \`${model}\` is only supported in v1/responses.`, { param: 'model', code: 'unsupported_endpoint' })
}
