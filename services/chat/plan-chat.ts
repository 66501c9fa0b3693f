import { promptSize, type PromptSize } from '../billing/prompt-size.ts'
import type { RequestsConfig } from '../config/catalogue/types.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { isPolicy, planFor, type Candidate, type Catalogue, type Plan } from '../requests/candidates.ts'
import type { Incoming } from '../requests/incoming.ts'
import type { AutoModel } from './auto-model.ts'
import { onlyFitting } from './context-window.ts'
import { onlyPriced, onlyServed } from './request-checks.ts'
import type { AnyRequest, Native, Selected } from './types.ts'

/** A request as providers get it, and the deployments that may answer it. */
export interface ChatPlan<Request> {
  incoming: Incoming<Request>
  auto: Selected
  plan: Plan<Candidate<ChatProvider>>
  prompt: PromptSize
}

interface PlanOptions {
  catalogue: Catalogue
  autoModel: AutoModel
  limits: Pick<RequestsConfig, 'allowDearerFallbacks'>
}

/**
 * Plans a chat request: `auto` selects its model; then those of its deployments and fallbacks that serve what
 * it asks for, at a price, within their context windows. Throws GatewayError 400 or 404 when none does.
 */
export async function planChat<Request extends AnyRequest> (
  given: Incoming<Request>, native: Omit<Native, 'ask'>, { catalogue, autoModel, limits }: PlanOptions
): Promise<ChatPlan<Request>> {
  const isAuto = isPolicy(given.request.model)
  const auto = isAuto ? await autoModel.select(given, native.speaks !== undefined) : null
  const incoming = withoutOwnFields(given)
  const { request, text, mayUse } = incoming
  const { model, fallbacks } = auto ?? given.request
  const allowDearer = auto !== null || limits.allowDearerFallbacks
  const bodyBytes = Math.max(text.bytes.length, native.bodyBytes ?? 0)
  const question = { kind: 'chat' as const, model, fallbacks, promptBound: bodyBytes, allowDearer, mayUse }
  const served = onlyServed(planFor(question, catalogue), native.speaks)
  const priced = onlyPriced(native.narrow === undefined ? served : native.narrow(served), request)
  const prompt = promptSize(request, bodyBytes)
  const plan = native.mayShorten === true ? priced : await onlyFitting(priced, request, prompt)
  return { incoming, auto, plan, prompt }
}

const ownFields = ['fallbacks', 'routing']

/** The request as providers get it: fields for the gateway alone are taken out. */
function withoutOwnFields<Request extends AnyRequest> (incoming: Incoming<Request>): Incoming<Request> {
  const { request, text } = incoming
  if (request.fallbacks === undefined && request.routing === undefined) return incoming
  return {
    ...incoming,
    text: text.without(ownFields),
    request: { ...request, fallbacks: undefined, routing: undefined }
  }
}
