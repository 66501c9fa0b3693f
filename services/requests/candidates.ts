import type { DeploymentConfig, ModelConfig, Price } from '../config/catalogue/types.ts'
import type { Deployment, Deployments } from '../models/deployments/deployments.ts'
import { GatewayError } from '../shared/errors.ts'
import { isOnLists, type RegionList } from '../shared/regions.ts'
import type { TokenLimits } from '../billing/max-cost.ts'
import { isMoreExpensive } from '../billing/price-compare.ts'
import type { ResolvedModel } from '../models/registry.ts'
import type { Provider } from '../providers/provider.ts'

/** The part of a provider that serves each kind of model. */
const parts = { chat: 'chat', image: 'images', video: 'videos' } as const
export type Kind = keyof typeof parts
/** A provider that serves a kind of model. */
export type ProviderOf<K extends Kind> = Provider & Required<Pick<Provider, typeof parts[K]>>

/** A deployment that may serve a request. */
export interface Candidate<P extends Provider = Provider> {
  model: ModelConfig
  deployment: DeploymentConfig
  provider: P
  /** Its price; null if it cannot be sold. */
  price: Price | null
  /** The operator's cost; null if unknown. */
  cost: Price | null
  /** Its circuit breaker and its statistics. */
  health: Deployment
}

/** All may be replaced while requests run. */
export interface Catalogue {
  resolve (model: string): ResolvedModel | undefined
  provider (id: string): Provider | undefined
  deployments: Pick<Deployments, 'of'>
  /** A sentence about a name that a key cannot use; may be empty. */
  hintFor? (model: string, mayUse: (model: string) => boolean): string
}

/** The inputs that determine the candidates of a request. */
export interface PlanRequest<K extends Kind> {
  kind: K
  model: string
  /** Fallbacks of the client; null for those of the operator. */
  fallbacks?: readonly string[] | null
  /** The most tokens that the prompt can have; prices are compared at this length. */
  promptBound?: number
  /** Whether a fallback may cost more than the requested model. */
  allowDearer?: boolean
  /** The regions that the key and the policy allow, each for itself. Absent: all are allowed. */
  regions?: readonly RegionList[]
  mayUse (model: string): boolean
}

/** All candidates of a request, by model. */
export interface Plan<C> {
  model: ModelConfig
  /** The deployments of the requested model, in the operator's order; at least one. */
  requested: readonly C[]
  /** Those of each fallback in order, looked up on demand. */
  fallbacks (): Iterable<readonly C[]>
}

/**
 * Lists the candidates of a request: the requested model, then the fallbacks. A fallback is omitted if the
 * key may not use it, it is of another kind, has no price, or costs more than the requested model; so is a
 * provider in a region that is not allowed. Throws GatewayError 404 for a model that does not exist or that
 * the key may not use, 400 for a model of another kind, or in no allowed region.
 */
export function planFor<K extends Kind> (
  request: PlanRequest<K>, catalogue: Catalogue
): Plan<Candidate<ProviderOf<K>>> {
  const { kind, model: id, mayUse, regions = [] } = request
  const resolved = catalogue.resolve(id)
  if (resolved === undefined || !mayUse(resolved.model.id)) {
    throw GatewayError.modelNotFound(id, catalogue.hintFor?.(id, mayUse))
  }
  if (resolved.model.kind !== kind) throw wrongKind(id, resolved.model.kind, kind)
  const anywhere = candidatesOf(resolved, kind, catalogue)
  const all = anywhere.filter(({ provider }) => isOnLists(provider.region ?? null, regions))
  if (all.length === 0 && anywhere.length > 0) throw notInRegions(id, regions)
  const sellable = all.filter(({ price }) => price !== null)
  // If no model has a price, the quote rejects the request.
  const requested = sellable.length > 0 ? sellable : all
  if (requested.length === 0) throw GatewayError.modelNotFound(id)
  const { model } = resolved
  return { model, requested, fallbacks: () => fallbacksOf(request, model, requested, catalogue) }
}

function * fallbacksOf<K extends Kind> (
  { kind, fallbacks, promptBound = 0, allowDearer = false, mayUse, regions = [] }: PlanRequest<K>,
  model: ModelConfig, requested: readonly Candidate<ProviderOf<K>>[], catalogue: Catalogue
): Generator<Candidate<ProviderOf<K>>[]> {
  const prices = requested.map(({ price }) => price).filter(price => price !== null)
  const maxFeeNano = Math.max(...requested.map(searchFeeNano))
  const seen = new Set([model.id])
  for (const id of fallbacks ?? model.fallbacks ?? []) {
    const found = catalogue.resolve(id)
    if (found === undefined || seen.has(found.model.id)) continue
    seen.add(found.model.id)
    if (found.model.kind !== kind || !mayUse(found.model.id)) continue
    const candidates = candidatesOf(found, kind, catalogue).filter(candidate => {
      const { price, provider } = candidate
      if (!isOnLists(provider.region ?? null, regions)) return false
      if (price === null || allowDearer) return price !== null
      return !isMoreExpensive(price, prices, promptBound) && searchFeeNano(candidate) <= maxFeeNano
    })
    if (candidates.length > 0) yield candidates
  }
}

/** Limits on prompt and output: of the model, as reported by its server, and as exceeded by it before. */
export function tokenLimitsOf (
  { model, deployment, provider, health: { exceeded } }: Candidate
): TokenLimits {
  const server = provider.limitsOf?.(deployment.model) ?? {}
  return {
    contextWindow: exceeded.window ? null : least(model.contextWindow, server.contextWindow),
    maxOutput: least(model.maxOutput, server.maxOutput),
    ignoresLimit: exceeded.output
  }
}

function least (one: number | null, other: number | undefined): number | null {
  return one === null || other === undefined ? one ?? other ?? null : Math.min(one, other)
}

/** The most that searches may cost for a model that always searches. */
function searchFeeNano (candidate: Candidate): number {
  const { price } = candidate
  return alwaysSearches(candidate) ? (price?.searchNano ?? 0) * (price?.maxSearches ?? 1) : 0
}

/** Whether a candidate's model searches the web for every response. */
export function alwaysSearches (
  { provider: { pricing }, deployment }: Pick<Candidate, 'provider' | 'deployment'>
): boolean {
  return pricing?.searchingModels?.test(deployment.model) === true
}

function candidatesOf<K extends Kind> (
  { model, deployments }: ResolvedModel, kind: K, catalogue: Catalogue
): Candidate<ProviderOf<K>>[] {
  const candidates: Candidate<ProviderOf<K>>[] = []
  for (const deployment of deployments) {
    const provider = catalogue.provider(deployment.provider)
    if (provider === undefined || !serves(provider, kind)) continue
    const price = deployment.price === undefined ? model.price : deployment.price
    const cost = deployment.cost ?? model.cost ?? null
    const health = catalogue.deployments.of(deployment)
    candidates.push({ model, deployment, provider, price, cost, health })
  }
  return candidates
}

function serves<K extends Kind> (provider: Provider, kind: K): provider is ProviderOf<K> {
  return provider[parts[kind]] !== undefined
}

function notInRegions (id: string, regions: readonly RegionList[]): GatewayError {
  const allowed = regions.filter(list => list !== null).map(list => list.join(', ')).join('; ')
  const message = `The model \`${id}\` is served in none of the regions that are allowed here (${allowed}).`
  return GatewayError.invalidRequest(message, { param: 'model', code: 'region_not_allowed' })
}

const does: Record<Kind, string> = { chat: 'is a chat model', image: 'makes images', video: 'makes videos' }
const cannot: Record<Kind, string> = { chat: 'chat', image: 'make images', video: 'make videos' }

function wrongKind (id: string, kind: Kind, requested: Kind): GatewayError {
  return GatewayError.invalidRequest(`The model \`${id}\` ${does[kind]}; it cannot ${cannot[requested]}.`, { param: 'model' })
}

/**
 * The order in which to try the deployments of a model: lower priority first; within one priority at random,
 * in proportion to the weights. Deployments of weight 0 come last. `random` is in [0, 1).
 */
export function weightedOrder<C extends Pick<Candidate, 'deployment'>> (
  candidates: readonly C[], random: () => number
): readonly C[] {
  return ordered(candidates, random, sortByRank)
}

/**
 * The same, but with one order for all requests of a conversation, on every node, by weighted rendezvous
 * hashing: when a deployment fails, only its conversations move, and they return later. A deployment with
 * many more calls on this node than its share comes after the others of its priority. Source: Schindelhauer
 * and Schomaker, "Weighted Distributed Hash Tables", 2005, the logarithmic method.
 */
export function conversationOrder<C extends Pick<Candidate, 'deployment' | 'health'>> (
  candidates: readonly C[], conversation: string, nowMs: number
): readonly C[] {
  const hash = hashOf(conversation)
  const uniform = ({ deployment: { provider, model } }: C): number =>
    mix(hash ^ mix(hashOf(model, hashOf(provider)))) / 2 ** 32
  return ordered(candidates, uniform, ranked => busyLast(sortByRank(ranked), nowMs))
}

interface Ranked<C> { candidate: C, rank: number }

function ordered<C extends Pick<Candidate, 'deployment'>> (
  candidates: readonly C[], uniform: (candidate: C) => number, sort: (ranked: Ranked<C>[]) => readonly C[]
): readonly C[] {
  if (candidates.length < 2) return candidates
  const byPriority = Map.groupBy(candidates, ({ deployment }) => deployment.priority)
  const priorities = [...byPriority.keys()].toSorted((one, other) => one - other)
  return priorities.flatMap(priority => {
    const group = byPriority.get(priority) ?? []
    if (group.length < 2) return group
    return sort(group.map(candidate => ({ candidate, rank: rankOf(candidate, uniform(candidate)) })))
  })
}

/** Exponentially distributed: each is the least of several with a probability by its weight. */
function rankOf ({ deployment: { weight } }: Pick<Candidate, 'deployment'>, uniform: number): number {
  return weight > 0 ? -Math.log(1 - uniform) / weight : Infinity
}

function sortByRank<C> (ranked: Ranked<C>[]): C[] {
  // Not a difference, which is NaN for two infinite ranks.
  return ranked.sort((one, other) => one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0)
    .map(({ candidate }) => candidate)
}

/** Calls beyond its share that a deployment may always have, and additional standard deviations. */
const spareCalls = 4
const spareDeviations = 3

/** Moves a deployment behind the others once it has more calls than chance explains. */
function busyLast<C extends Pick<Candidate, 'deployment' | 'health'>> (
  order: readonly C[], nowMs: number
): readonly C[] {
  const ready = order.filter(({ deployment: { weight }, health: { breaker } }) =>
    weight > 0 && breaker.state(nowMs) === 'ready')
  const calls = ready.reduce((sum, { health }) => sum + health.calls, 1)
  const weights = ready.reduce((sum, { deployment }) => sum + deployment.weight, 0)
  const busy = ready.filter(({ deployment: { weight }, health }) => {
    const share = calls * weight / weights
    return health.calls >= share + spareDeviations * Math.sqrt(share) + spareCalls
  })
  if (busy.length === 0) return order
  const isFree = (one: C): boolean => one.deployment.weight > 0 && !busy.includes(one)
  return [...order.filter(isFree), ...busy, ...order.filter(({ deployment: { weight } }) => weight === 0)]
}

/** FNV-1a over UTF-16 units, continuing from another hash. */
function hashOf (text: string, from = 0x811c9dc5): number {
  let hash = from
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash
}

/** Mixes all bits into an unsigned number: the finalizer of MurmurHash3. */
function mix (hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** Whether a model id lets the gateway choose. */
export function isPolicy (model: string): boolean {
  return model === 'auto' || model.startsWith('auto:')
}
