import { serviceTierName, serviceTierPriceOf } from '../billing/token-price.ts'
import type { FieldPricing, PricedField } from '../config/catalogue/priced-fields.ts'
import type { Price } from '../config/catalogue/types.ts'
import { alwaysSearches, type Candidate, type Plan } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'
import { isObject } from '../shared/json.ts'
import { extraFields } from '../shared/request-fields.ts'
import type { AnyRequest, Extras } from './client-api.ts'
import { keepOnly } from './narrow-plan.ts'

/** The field that only offers searches. */
export const searchOptions = 'web_search_options'

/**
 * Leaves out the candidates that would do something for a request which has no price there, or would run
 * another model. Throws the first refusal (GatewayError 400) when none of those asked for is left.
 */
export function onlyPriced<C extends Candidate> (plan: Plan<C>, request: AnyRequest): Plan<C> {
  let first: GatewayError | null = null
  const isPriced = (candidate: C): boolean => {
    const refusal = refusalOf(request, candidate)
    first ??= refusal
    return refusal === null
  }
  const kept = keepOnly(plan, isPriced)
  if (kept.requested.length === 0 && first !== null) throw first
  return kept
}

/** The service tier, the searches and the long caching that a candidate is asked for, all priced. */
export function extrasOf (
  request: AnyRequest, candidate: Pick<Candidate, 'provider' | 'deployment' | 'price'>
): Extras {
  const { pricing } = candidate.provider
  const searches = alwaysSearches(candidate)
  const extras: Extras = { tier: null, searches, longCache: false, thoughtTokens: 0 }
  if (pricing === undefined) return extras
  if (pricing.cacheLifetime === 'priced') extras.longCache = hasCacheLifetime(request)
  for (const { field, value } of requestedFields(request, pricing)) {
    if (field.effect === 'tier') extras.tier = String(value)
    if (isSearch(field, value) && candidate.price?.searchNano != null) extras.searches = true
  }
  return extras
}

/** What decides whether a request is priced. */
type Priced = Pick<Candidate, 'provider' | 'deployment' | 'price'> & { model: Pick<Candidate['model'], 'id'> }

function isSearch (field: PricedField, value: unknown): boolean {
  return field.effect === 'search' || field.isSearch?.(value) === true
}

/** Why a candidate cannot serve a request at its price; null if it can. */
export function refusalOf (request: AnyRequest, candidate: Priced): GatewayError | null {
  const { model: { id }, provider: { pricing }, price } = candidate
  // What has no price at all is refused when its price is asked for.
  if (price === null) return null
  if (wantsAudio(request) && price.audioOutputPico == null && price.outputPico !== 0) {
    return unpriced('modalities', `The model \`${id}\` has no price for audio`, 'audio_output: …')
  }
  if (pricing === undefined) return null
  if (alwaysSearches(candidate) && price.searchNano == null) {
    return unpriced('model', `The model \`${id}\` searches the web, which has no price`, 'search: …')
  }
  for (const requested of requestedFields(request, pricing)) {
    const refusal = fieldRefusal(requested, id, price)
    if (refusal !== null) return refusal
  }
  return pricing.cacheLifetime === 'refused' && hasCacheLifetime(request)
    ? refusedField('cache_control.ttl', { name: 'cache_control', effect: 'price' })
    : null
}

interface RequestedField { field: PricedField, path: readonly string[], value: unknown }

function fieldRefusal (
  { field, path, value }: RequestedField, model: string, price: Price
): GatewayError | null {
  const param = path.join('.')
  if (isSearch(field, value)) {
    return price.searchNano != null || param === searchOptions ? null : unpricedSearch(model, param)
  }
  if (field.effect !== 'tier') return refusedField(param, field)
  const tier = String(value).slice(0, 64)
  if (serviceTierPriceOf(price, tier) !== null) return null
  return unpriced(param, `The model \`${model}\` has no price for '${param}': '${tier}'`,
    `service_tiers: [{ name: ${serviceTierName(tier)}, … }]`)
}

/** The fields of a request that a provider has priced, with values that are not harmless. */
function requestedFields (request: AnyRequest, { fields }: FieldPricing): readonly RequestedField[] {
  if (fields.size === 0) return noFields
  const listed: Record<string, unknown> = request
  const extras = extraFields(request)
  if (extras.length === 0 && listedNames.every(([name]) => listed[name] == null)) return noFields
  const named = listedNames.map(([name, folded]) => ({ path: [name], name: folded, value: listed[name] }))
  return [...named, ...extras].flatMap(({ path, name, value }) => {
    const field = fields.get(name)
    return field !== undefined && matters(field, value) ? [{ field, path, value }] : []
  })
}

const noFields: readonly RequestedField[] = []

/** Priced fields that the gateway's schemas list. */
const listedNames = [['service_tier', 'servicetier'], ['web_search_options', 'websearchoptions']] as const

function matters (field: PricedField, value: unknown): boolean {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return false
  return !field.isHarmless(value)
}

function wantsAudio (request: AnyRequest): boolean {
  return 'messages' in request && request.modalities?.includes('audio') === true
}

/** Whether a part of the prompt is to be cached for longer than the five minutes of the usual price. */
export function hasCacheLifetime (request: AnyRequest): boolean {
  if (!('messages' in request)) return false
  if (isCachedLong(request)) return true
  for (const message of request.messages) {
    if (isCachedLong(message)) return true
    if (Array.isArray(message.content) && message.content.some(isCachedLong)) return true
  }
  return request.tools?.some(tool => isCachedLong(tool) || (tool.type === 'function' && isCachedLong(tool.function))) ??
    false
}

function isCachedLong (part: object): boolean {
  const control: unknown = Reflect.get(part, 'cache_control')
  return isObject(control) && control.ttl !== undefined && control.ttl !== '5m'
}

/** 400: a model has no price for the searches that a field demands. */
export function unpricedSearch (model: string, param: string): GatewayError {
  return unpriced(param, `The model \`${model}\` has no price for the web searches of '${param}'`, 'search: …')
}

function unpriced (param: string, why: string, form: string): GatewayError {
  const message = `${why} on this gateway, so it is refused. The operator can set one in gateway.yaml, under the model: price: { ${form} }.`
  return GatewayError.invalidRequest(message, { param, code: 'parameter_not_priced' })
}

function refusedField (param: string, { name, effect }: Pick<PricedField, 'name' | 'effect'>): GatewayError {
  const why = effect === 'model'
    ? 'runs models that were not checked and priced. Use `fallbacks` for other models'
    : effect === 'answers'
      ? 'asks for more answers than are priced. Use `n`'
      : 'changes what a request costs, and has no price on this gateway. The operator can allow it in gateway.yaml, ' +
        `under the provider: allow_fields: [${name}]`
  return GatewayError.unsupportedParameter(param, `The field '${param}' ${why}.`)
}
