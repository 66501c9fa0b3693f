import type { DeploymentConfig, ModelConfig, Price } from '../catalogue/types.ts'
import type { Deployment, Deployments } from '../deployments/deployments.ts'
import { GatewayError } from '../shared/errors.ts'
import { isMoreExpensive } from '../billing/price-compare.ts'
import type { ResolvedModel } from '../models/models.ts'
import type { Provider } from '../providers/provider.ts'

/** The part of a provider that serves each kind of model. */
const parts = { chat: 'chat', image: 'images', video: 'videos' } as const
export type Kind = keyof typeof parts
/** A provider that serves a kind of model. */
export type ProviderOf<K extends Kind> = Provider & Required<Pick<Provider, typeof parts[K]>>

/** A deployment that may answer a request. */
export interface Candidate<P extends Provider = Provider> {
  model: ModelConfig
  deployment: DeploymentConfig
  provider: P
  /** What it costs there; null: it cannot be sold. */
  price: Price | null
  /** What the operator pays there; null: not known. */
  cost: Price | null
  /** Its circuit breaker and its statistics. */
  health: Deployment
}

/** All may be replaced while requests run. */
export interface Catalogue {
  resolve (model: string): ResolvedModel | undefined
  provider (id: string): Provider | undefined
  deployments: Pick<Deployments, 'of'>
}

/** What decides which candidates a request has. */
export interface PlanRequest<K extends Kind> {
  kind: K
  model: string
  /** Models the client accepts instead; null: those of the operator. */
  fallbacks?: readonly string[] | null
  /** The most tokens that the prompt can have; prices of fallbacks are compared at that length. */
  promptBound?: number
  /** Whether a fallback may cost more than the model asked for. */
  allowDearer?: boolean
  mayUse (model: string): boolean
}

/** Everything that may be tried for a request, model by model. */
export interface Plan<C> {
  model: ModelConfig
  /** The deployments of the model asked for, in the operator's order; at least one. */
  asked: readonly C[]
  /** Those of each fallback, in the order of trying; looked up only when they are needed. */
  fallbacks (): Iterable<readonly C[]>
}

/**
 * Plans a request: the model asked for, then the fallbacks. A fallback is left out if the key may not use it,
 * it is of another kind, has no price, or costs more than the model asked for. Throws GatewayError 404 for a
 * model that does not exist or that the key may not use, 400 for a model of another kind.
 */
export function planFor<K extends Kind> (
  request: PlanRequest<K>, catalogue: Catalogue
): Plan<Candidate<ProviderOf<K>>> {
  const { kind, model: id, mayUse } = request
  const resolved = catalogue.resolve(id)
  if (resolved === undefined || !mayUse(resolved.model.id)) throw GatewayError.modelNotFound(id)
  if (resolved.model.kind !== kind) throw wrongKind(id, resolved.model.kind, kind)
  const all = candidatesOf(resolved, kind, catalogue)
  const sellable = all.filter(({ price }) => price !== null)
  // If nothing has a price, the refusal comes when the price is asked for.
  const asked = sellable.length > 0 ? sellable : all
  if (asked.length === 0) throw GatewayError.modelNotFound(id)
  const { model } = resolved
  return { model, asked, fallbacks: () => fallbacksOf(request, model, asked, catalogue) }
}

function * fallbacksOf<K extends Kind> (
  { kind, fallbacks, promptBound = 0, allowDearer = false, mayUse }: PlanRequest<K>,
  model: ModelConfig, asked: readonly Candidate<ProviderOf<K>>[], catalogue: Catalogue
): Generator<Candidate<ProviderOf<K>>[]> {
  const prices = asked.map(({ price }) => price).filter(price => price !== null)
  const mostFeeNano = Math.max(...asked.map(searchFeeNano))
  const seen = new Set([model.id])
  for (const id of fallbacks ?? model.fallbacks ?? []) {
    const found = catalogue.resolve(id)
    if (found === undefined || seen.has(found.model.id)) continue
    seen.add(found.model.id)
    if (found.model.kind !== kind || !mayUse(found.model.id)) continue
    const candidates = candidatesOf(found, kind, catalogue).filter(candidate => {
      const { price } = candidate
      if (price === null || allowDearer) return price !== null
      return !isMoreExpensive(price, prices, promptBound) && searchFeeNano(candidate) <= mostFeeNano
    })
    if (candidates.length > 0) yield candidates
  }
}

/** What the searches of a model that always searches may cost. */
function searchFeeNano ({ provider: { pricing }, deployment, price }: Candidate): number {
  if (pricing?.alwaysSearches(deployment.model) !== true) return 0
  return (price?.searchNano ?? 0) * (price?.maxSearches ?? 1)
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

const does: Record<Kind, string> = { chat: 'is a chat model', image: 'makes images', video: 'makes videos' }
const cannot: Record<Kind, string> = { chat: 'chat', image: 'make images', video: 'make videos' }

function wrongKind (id: string, kind: Kind, asked: Kind): GatewayError {
  return GatewayError.invalidRequest(`The model \`${id}\` ${does[kind]}; it cannot ${cannot[asked]}.`, { param: 'model' })
}

/**
 * The order in which to try the deployments of a model: lower priority first; within one priority at random,
 * each first as often as its weight says. Deployments of weight 0 come last. `random` is in [0, 1).
 */
export function weightedOrder<C extends Pick<Candidate, 'deployment'>> (
  candidates: readonly C[], random: () => number
): readonly C[] {
  if (candidates.length < 2) return candidates
  const byPriority = Map.groupBy(candidates, ({ deployment }) => deployment.priority)
  const priorities = [...byPriority.keys()].toSorted((one, other) => one - other)
  return priorities.flatMap(priority => shuffled(byPriority.get(priority) ?? [], random))
}

function shuffled<C extends Pick<Candidate, 'deployment'>> (candidates: readonly C[], random: () => number): C[] {
  const left = [...candidates]
  const order: C[] = []
  while (left.length > 0) {
    const total = left.reduce((sum, { deployment }) => sum + deployment.weight, 0)
    let point = random() * total
    const index = left.findIndex(({ deployment }) => (point -= deployment.weight) < 0)
    order.push(...left.splice(Math.max(0, index), 1))
  }
  return order
}

/** Whether a model id asks the gateway to choose. */
export function isPolicy (model: string): boolean {
  return model === 'auto' || model.startsWith('auto:')
}
