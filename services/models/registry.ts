import { initialModelNames, modelFromCatalogue, withFamilyPrice } from '../config/catalogue/models.ts'
import type { DeploymentConfig, GatewayConfig, ModelConfig, ProviderConfig } from '../config/catalogue/types.ts'
import type { ModelKind } from '../config/catalogue/kinds.ts'
import { compileGlob } from '../shared/glob.ts'
import { createLru } from '../shared/lru.ts'
import { kindAt, servedKindAt, type Stated } from './kind-at.ts'
import { withStatedPrice } from './stated-price.ts'

/** A model and its deployments, sorted by ascending priority, then by descending weight. */
export interface ResolvedModel { model: ModelConfig, deployments: DeploymentConfig[] }

const limits = { discoveredPerProvider: 5_000, idLength: 512, cachedUnlisted: 1_000 }

/** The models of one configuration, and those its providers offer. */
export type ModelRegistry = ReturnType<typeof createModelRegistry>

/**
 * Creates the registry of a configuration, without changing the configuration. Long because its short methods
 * share private state.
 */
export function createModelRegistry (
  config: Pick<GatewayConfig, 'providers' | 'models' | 'unpriced'>, stated: Stated = () => undefined
) {
  const priced = config.unpriced === 'family' ? withFamilyPrice : (model: ModelConfig) => model
  let configured = resolveConfigured()
  const claims = config.providers.flatMap(({ id, claims }) => {
    return claims.map((glob) => ({ provider: id, matches: compileGlob(glob) }))
  })
  const providers = new Map(config.providers.map((provider) => [provider.id, provider]))
  // Both are filled on demand, because the start should not wait for a thousand catalogue models.
  const offers = new Map<string, Offers>()
  const discovered = new Set<string>()
  let bareNames: Offers | null = null
  const unlisted = createLru<ResolvedModel>(limits.cachedUnlisted)

  /** A configured model without a price has the one that its provider states. */
  function resolveConfigured (): Map<string, ResolvedModel> {
    return new Map(config.models.map(model => {
      const isOpen = !isSold(model) && model.deployments.length === 1
      return [model.id, toResolved(isOpen ? atStatedPrice(model) : priced(model))]
    }))
  }

  function atStatedPrice (model: ModelConfig): ModelConfig {
    const [first] = model.deployments
    return priced(withStatedPrice(model, first && stated(first.provider, first.model)))
  }

  function resolve (id: string): ResolvedModel | undefined {
    return configured.get(id) ?? findOffered(id) ?? unlisted.get(id) ?? findUnlisted(id)
  }

  function findOffered (id: string): ResolvedModel | undefined {
    bareNames ??= collectBareNames(configured, offersByProvider())
    return offersOf(providerOf(id)).get(id) ?? bareNames.get(id)
  }

  /** A model as a provider offers it; null if the provider cannot serve it here. */
  function offeredModel (provider: ProviderConfig, upstream: string): ModelConfig | null {
    const kind = servedKindAt(provider, upstream, stated)
    return kind && atStatedPrice(modelFromCatalogue(provider.id, upstream, kind))
  }

  function toOffers (provider: ProviderConfig, upstreamIds: readonly string[]): Offers {
    const models = upstreamIds.map((id) => offeredModel(provider, id)).filter((model) => model !== null)
    return new Map(models.map((model) => [model.id, toResolved(model)]))
  }

  function offersOf (id: string): Offers {
    const provider = providers.get(id)
    if (provider === undefined) return noOffers
    const found = offers.get(id) ?? toOffers(provider, initialModelNames(provider))
    offers.set(id, found)
    return found
  }

  function offersByProvider (): Map<string, Offers> {
    return new Map([...providers.keys()].map((id) => [id, offersOf(id)]))
  }

  function findUnlisted (id: string): ResolvedModel | undefined {
    if (id.length > limits.idLength) return undefined
    const resolved = resolveByName(id)
    if (resolved !== undefined) unlisted.set(id, resolved)
    return resolved
  }

  /** Resolves an unlisted model by the provider in its name, or by the provider that claims the name. */
  function resolveByName (id: string): ResolvedModel | undefined {
    const provider = providers.get(providerOf(id))
    if (provider === undefined) {
      const claim = claims.find(({ matches }) => matches(id))
      return claim && resolve(`${claim.provider}/${id}`)
    }
    const upstream = id.slice(provider.id.length + 1)
    const model = upstream === '' ? null : offeredModel(provider, upstream)
    if (model === null || (discovered.has(provider.id) && !isSold(model))) return undefined
    return toResolved(model)
  }

  return {
    /**
     * Finds a model by id, in this order: a configured model; a model a provider offers, as
     * `<provider>/<upstream>` or by its bare name; any other name at a provider, as `<provider>/<anything>`;
     * a bare name that a provider claims. Models that no endpoint serves are not found, nor are those without
     * a price that their provider does not list.
     */
    resolve,

    /** Returns the configured models, then the offered ones, in the order of the configuration. */
    list (): ModelConfig[] {
      const offered = [...offersByProvider().values()].flatMap((models) => [...models.values()])
      const others = offered.filter(({ model }) => !configured.has(model.id))
      return [...configured.values(), ...others].map(({ model }) => model)
    },

    get: (id: string): ModelConfig | undefined => (configured.get(id) ?? findOffered(id))?.model,

    /** The kind of a model that its provider may have, but cannot serve here; undefined for other names. */
    unservedKind (id: string): ModelKind | 'other' | undefined {
      const prefix = providers.get(providerOf(id))
      const provider = prefix ?? providers.get(claims.find(({ matches }) => matches(id))?.provider ?? '')
      const upstream = prefix === undefined ? id : id.slice(prefix.id.length + 1)
      if (provider === undefined || servedKindAt(provider, upstream, stated) !== null) return undefined
      return kindAt(provider, upstream, stated)
    },

    /**
     * Replaces the models of a provider, and their prices by those that it states; with none, the catalogue's
     * models apply. Returns the number of dropped ones. Throws RangeError for an unknown provider.
     */
    setDiscovered (provider: string, upstreamIds: readonly string[]): number {
      const config = providers.get(provider)
      if (config === undefined) throw new RangeError(`There is no provider ${provider}.`)
      const servable = upstreamIds.filter((id) => servedKindAt(config, id, stated) !== null)
      const offered = [...new Set(servable)]
        .filter((id) => id !== '' && id.length + provider.length < limits.idLength)
        .slice(0, limits.discoveredPerProvider)
      if (upstreamIds.length === 0) {
        offers.delete(provider)
        discovered.delete(provider)
      } else {
        offers.set(provider, toOffers(config, offered))
        discovered.add(provider)
      }
      bareNames = null
      configured = resolveConfigured()
      unlisted.clear()
      return servable.length - offered.length
    }
  }
}

type Offers = ReadonlyMap<string, ResolvedModel>

const noOffers: Offers = new Map()

/** Whether a model has a price in some unit. */
export function isSold ({ price, deployments, images, video }: ModelConfig): boolean {
  return price !== null || deployments.some(deployment => deployment.price != null) ||
    (images?.prices.length ?? 0) > 0 || (video?.prices.length ?? 0) > 0
}

/**
 * Collects the providers' names of models; the first provider of a name gets it. A name such as
 * `openai/gpt-4o`, which starts with another provider's id, is omitted, so that it always means that
 * provider.
 */
function collectBareNames (
  configured: ReadonlyMap<string, ResolvedModel>, offers: ReadonlyMap<string, Offers>
): Offers {
  const names = new Map<string, ResolvedModel>()
  for (const [provider, models] of offers) {
    for (const [id, resolved] of models) {
      const name = id.slice(provider.length + 1)
      if (!names.has(name) && !offers.has(providerOf(name))) names.set(name, configured.get(id) ?? resolved)
    }
  }
  return names
}

function providerOf (id: string): string {
  return id.slice(0, Math.max(0, id.indexOf('/')))
}

function toResolved (model: ModelConfig): ResolvedModel {
  const deployments = model.deployments.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight)
  return { model, deployments }
}
