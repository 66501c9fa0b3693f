import { promptSize, type PromptSize } from '../billing/prompt-size.ts'
import type { RequestsConfig } from '../config/catalogue/types.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { isPolicy, planFor, type Candidate, type Catalogue, type Plan } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import type { AutoModel } from './auto-model.ts'
import { onlyFitting } from './context-window.ts'
import { planOffers } from './offered-tools.ts'
import { onlyServed } from './narrow-plan.ts'
import { onlyPriced } from './priced-requests.ts'
import type { AnyRequest, ClientApi } from './client-api.ts'
import type { Selected } from './types.ts'

/** A request as providers get it, and the deployments that may serve it. */
export interface ChatPlan<Request> {
  exchange: Exchange<Request>
  auto: Selected
  plan: Plan<Candidate<ChatProvider>>
  prompt: PromptSize
}

interface PlanOptions {
  catalogue: Catalogue
  autoModel: AutoModel
  limits: Pick<RequestsConfig, 'allowDearerFallbacks' | 'strictTools'>
}

/**
 * Plans a chat request: `auto` selects its model; then those of its deployments and fallbacks that serve what
 * its fields, at a price, within their context windows. Throws GatewayError 400 or 404 when none does.
 */
export async function planChat<Request extends AnyRequest> (
  given: Exchange<Request>, api: ClientApi<Request>, { catalogue, autoModel, limits }: PlanOptions
): Promise<ChatPlan<Request>> {
  const isAuto = isPolicy(given.body.model)
  const auto = isAuto ? await autoModel.select(given, api.name === 'responses') : null
  const exchange = withoutGatewayFields(given)
  const { body, rawBody, mayUse } = exchange
  const regions = [exchange.regions, auto?.regions ?? null]
  const { model, fallbacks } = auto ?? given.body
  const allowDearer = auto !== null || limits.allowDearerFallbacks
  const bodyBytes = Math.max(rawBody.bytes.length, api.bodyBytes ?? 0)
  const wanted = { kind: 'chat' as const, model, fallbacks, promptBound: bodyBytes, allowDearer, mayUse, regions }
  const served = onlyServed(planFor(wanted, catalogue), api.speaks)
  const able = onlyPriced(api.narrow === undefined ? served : api.narrow(served), body)
  const priced = planOffers(able, { body, lacking: api.lacking, isStrict: limits.strictTools })
  const prompt = promptSize(body, bodyBytes)
  const plan = api.mayShorten === true ? priced : await onlyFitting(priced, body, prompt)
  return { exchange, auto, plan, prompt }
}

const gatewayFields = ['fallbacks', 'routing']

/** The request as providers get it: fields for the gateway alone are taken out. */
function withoutGatewayFields<Request extends AnyRequest> (exchange: Exchange<Request>): Exchange<Request> {
  const { body, rawBody } = exchange
  if (body.fallbacks === undefined && body.routing === undefined) return exchange
  return {
    ...exchange,
    rawBody: rawBody.without(gatewayFields),
    body: { ...body, fallbacks: undefined, routing: undefined }
  }
}
