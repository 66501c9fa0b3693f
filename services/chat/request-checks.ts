import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { serviceTierName, serviceTierPriceOf } from '../billing/token-price.ts'
import type { FieldPricing, PricedField } from '../config/catalogue/priced-fields.ts'
import type { Price } from '../config/catalogue/types.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { alwaysSearches, isPolicy, type Candidate, type Plan } from '../requests/candidates.ts'
import { GatewayError } from '../shared/errors.ts'
import { isObject } from '../shared/json.ts'
import { extraFields, lengthRole, misspelledField, outputLimitOf, type ExtraField } from '../shared/request-fields.ts'

/** Fields of chat that would be read as such on the way, without having been validated. */
const chatOnly = [
  'messages', 'tools', 'tool_choice', 'functions', 'function_call', 'modalities', 'audio', 'prediction', 'video',
  'web_search_options'
]
/** The field that only offers searches. */
export const searchOptions = 'web_search_options'

/** Checks what the schema cannot say about a chat request. Throws GatewayError (400). */
export function checkChatRequest (request: ChatCompletionRequest): void {
  checkStreamOptions(request)
  checkRouting(request)
  checkLengths(request)
  const bestOf: unknown = Reflect.get(request, 'best_of')
  if (given(bestOf) && bestOf !== 1) refuse('best_of', '\'best_of\' is a field of text completions; use \'n\'.')
  if (given(request.top_logprobs) && request.logprobs !== true) {
    refuse('top_logprobs', '\'top_logprobs\' is only allowed when \'logprobs\' is set to true.')
  }
}

/** Checks what the schema cannot say about a text completion request. Throws GatewayError (400). */
export function checkCompletionRequest (request: CompletionRequest): void {
  checkStreamOptions(request)
  checkRouting(request)
  for (const name of chatOnly) {
    if (Reflect.get(request, name) !== undefined) refuse(name, `'${name}' is not a field of text completions; use /v1/chat/completions.`)
  }
  checkLengths(request)
  checkPrompt(request.prompt)
  const n = request.n ?? 1
  // Zero is within the schema's bounds and stands for "not asked for".
  const bestOf = request.best_of || n
  if (bestOf < n) {
    refuse('best_of', 'You requested that the server return more choices than it will generate ' +
      `(HINT: you must set 'n' (currently ${n}) to be at most 'best_of' (currently ${bestOf}), or omit either ` +
      'parameter if you don\'t specifically want to use them.)')
  }
  if (bestOf > n && request.stream === true) {
    refuse('best_of', 'Results cannot be streamed when \'best_of\' is greater than \'n\'.')
  }
}

function checkStreamOptions (request: ChatCompletionRequest | CompletionRequest): void {
  if (given(request.stream_options) && request.stream !== true) {
    refuse('stream_options', 'The \'stream_options\' parameter is only allowed when \'stream\' is enabled.')
  }
}

function checkRouting ({ model, routing }: ChatCompletionRequest | CompletionRequest): void {
  if (!given(routing) || isPolicy(model)) return
  refuse('routing', '\'routing\' is only allowed with the model `auto` or another policy, which choose a model.')
}

function checkPrompt (prompt: CompletionRequest['prompt']): void {
  if (!Array.isArray(prompt)) return
  const kinds = new Set<string>(prompt.map(item => typeof item))
  if (kinds.size > 1) {
    refuse('prompt', 'Invalid \'prompt\': expected only strings, only tokens or only arrays of tokens in one array.')
  }
}

const given = (value: unknown): boolean => value !== undefined && value !== null

function refuse (param: string, message: string): never {
  throw GatewayError.invalidRequest(message, { param })
}

/**
 * Checks the fields that bound the length of an answer, under every name that a server may know. Throws
 * GatewayError 400 for one that is not a number of tokens, that contradicts the output limit, or whose name
 * some servers take for that of another field.
 */
function checkLengths (request: ChatCompletionRequest | CompletionRequest): void {
  if (!('messages' in request)) checkLimit(['max_completion_tokens'], Reflect.get(request, 'max_completion_tokens'))
  const extras = extraFields(request)
  if (extras.length === 0) return
  for (const field of extras) {
    const listed = misspelledField(field)
    if (listed !== null) refuseField(field.path, `some servers read it as '${listed}'; write '${listed}'`)
    if (lengthRole(field) === 'limit') checkLimit(field.path, field.value)
  }
  const limit = outputLimitOf(request)
  for (const field of extras) checkAgainst(limit, field)
}

function checkLimit (path: readonly string[], value: unknown): void {
  if (value === undefined || value === null || (Number.isInteger(value) && Number(value) >= 1)) return
  refuseField(path, 'must be a whole number of tokens, at least 1')
}

/** A minimum or a budget of thoughts above the limit would make some servers exceed it. */
function checkAgainst (limit: number | null, field: ExtraField): void {
  const { path, value } = field
  if (value === undefined || value === null) return
  const role = lengthRole(field)
  if (role === 'minimum') {
    // At Cerebras, -1 stands for the longest answer.
    if (!Number.isInteger(value) || Number(value) < 0) refuseField(path, 'must be a whole number of tokens, at least 0')
    if (limit !== null && Number(value) > limit) refuseField(path, tooLong(limit))
  }
  if (role !== 'budget') return
  // Here -1 leaves the length of the thoughts to the model.
  if (!Number.isInteger(value)) refuseField(path, 'must be a whole number of tokens')
  if (limit !== null && Number(value) > limit) refuseField(path, tooLong(limit))
}

const tooLong = (limit: number): string => `must not exceed the output limit of ${limit} tokens`

function refuseField (path: readonly string[], why: string): never {
  throw GatewayError.invalidValue(path.join('.').slice(0, 200), why)
}

type AnyRequest = ChatCompletionRequest | CompletionRequest

/** What a request asks of one candidate at a price beside that of the tokens. */
export interface Extras {
  tier: string | null
  searches: boolean
  longCache: boolean
  /** The tokens of thoughts beyond the output limit. */
  thoughtTokens: number
}

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
  const requested = plan.requested.filter(isPriced)
  if (requested.length === 0 && first !== null) throw first
  return { model: plan.model, requested, fallbacks: () => fallbacksWith(plan, isPriced) }
}

/** The fallbacks of a plan without the candidates that are not kept. */
export function * fallbacksWith<C extends Candidate> (
  plan: Plan<C>, isKept: (candidate: C) => boolean
): Generator<readonly C[]> {
  for (const candidates of plan.fallbacks()) {
    const kept = candidates.filter(isKept)
    if (kept.length > 0) yield kept
  }
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
  const requested = plan.requested.filter(isServed)
  if (requested.length === 0) throw servedElsewhere(plan.model.id)
  return { model: plan.model, requested, fallbacks: () => fallbacksWith(plan, isServed) }
}

function servedElsewhere (model: string): GatewayError {
  return new GatewayError(404, 'invalid_request_error',
    `The model \`${model}\` is only supported in v1/responses.`, { param: 'model', code: 'unsupported_endpoint' })
}
