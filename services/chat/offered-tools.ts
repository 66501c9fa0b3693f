import type { ChatProvider } from '../providers/provider.ts'
import { isPolicy, type Candidate, type Plan } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import { GatewayError } from '../shared/errors.ts'
import { foldName } from '../shared/request-fields.ts'
import type { AnyRequest, ChatOrText, ProviderCalls } from './client-api.ts'
import { narrowPlan, preferring } from './narrow-plan.ts'
import { searchOptions, unpricedSearch } from './priced-requests.ts'

// A tool that a request only offers need not be used: a candidate that cannot run it, or has no price for it,
// is called without it, and the response names it. Policies prefer the models that can; an operator may have
// such requests refused (`requests.strict_tools`).

interface Offering {
  body: AnyRequest
  /** See `ProviderCalls`. */
  lacking: ProviderCalls<AnyRequest>['lacking']
  isStrict: boolean
}

/** The plan of a request by the tools that it offers. Throws GatewayError 400 if they are refused. */
export function planOffers (
  plan: Plan<Candidate<ChatProvider>>, { body, lacking = () => null, isStrict }: Offering
): Plan<Candidate<ChatProvider>> {
  const refuse = (candidate: Candidate<ChatProvider>) => searchRefusal(body, candidate) ?? lacking(candidate)
  if (isStrict) return narrowPlan(plan, refuse, isPolicy(body.model))
  return isPolicy(body.model) ? preferring(plan, candidate => refuse(candidate) === null) : plan
}

const someText = { role: 'user', content: '.' } as const

/** Why a candidate is called without the searches that a chat request offers; null: it may search. */
function searchRefusal (body: AnyRequest, candidate: Candidate<ChatProvider>): GatewayError | null {
  if (!('messages' in body) || body.web_search_options === undefined) return null
  if (isUnpricedSearch(candidate)) return unpricedSearch(candidate.model.id, searchOptions)
  const { model, provider, deployment } = candidate
  const probe = { model: body.model, messages: [someText], web_search_options: body.web_search_options }
  if (provider.unmet?.(probe, deployment.model).dropped.includes(searchOptions) !== true) return null
  return GatewayError.unsupportedParameter(searchOptions, `The model \`${model.id}\` has no web search in chats here.`)
}

function isUnpricedSearch ({ provider: { pricing }, price }: Candidate): boolean {
  return pricing?.fields.has(foldName(searchOptions)) === true && price !== null && price.searchNano == null
}

/** The request without the searches that it offers, where they have no price; `leftOut` names them. */
export function withoutUnpricedSearch<Request extends AnyRequest> (
  exchange: Exchange<Request>, candidate: Candidate<ChatProvider>
): Pick<Exchange<Request>, 'body' | 'rawBody'> & { leftOut: readonly string[] } {
  const { body, rawBody } = exchange
  const isOffered = 'messages' in body && body.web_search_options !== undefined
  if (!isOffered || !isUnpricedSearch(candidate)) return { body, rawBody, leftOut: [] }
  const leftOut = [searchOptions]
  return { body: { ...body, [searchOptions]: undefined }, rawBody: rawBody.without(leftOut), leftOut }
}

/** The response, whose report names what was left out of the request. */
export function reporting<Response extends ChatOrText> (
  response: Response, leftOut: readonly string[]
): Response {
  response.report.dropped = [...response.report.dropped, ...leftOut]
  return response
}
