import { LRUCache } from 'lru-cache'
import { initialModelNames, isServable, modelFromCatalogue } from '../catalogue/models.ts'
import type { DeploymentConfig, GatewayConfig, ModelConfig } from '../catalogue/types.ts'
import { compileGlob } from '../shared/glob.ts'

/** A model and its deployments, sorted by ascending priority, then by descending weight. */
export interface ResolvedModel { model: ModelConfig, deployments: DeploymentConfig[] }

const limits = { discoveredPerProvider: 5_000, idLength: 512, cachedUnlisted: 1_000 }

/** The models of one configuration, and those its providers offer. */
export type ModelRegistry = ReturnType<typeof createModelRegistry>

/** Creates the registry of a configuration, without changing the configuration. */
export function createModelRegistry (config: Pick<GatewayConfig, 'providers' | 'models'>) {
  const configured = new Map(config.models.map((model) => [model.id, toResolved(model)]))
  const claims = config.providers.flatMap(({ id, claims }) => {
    return claims.map((glob) => ({ provider: id, matches: compileGlob(glob) }))
  })
  const providers = new Map(config.providers.map((provider) => [provider.id, provider]))
  // Both are filled on demand: a start should not wait for a thousand models of the catalogue.
  const offers = new Map<string, Offers>()
  let bareNames: Offers | null = null
  const unlisted = new LRUCache<string, ResolvedModel>({ max: limits.cachedUnlisted })

  function resolve (id: string): ResolvedModel | undefined {
    return configured.get(id) ?? findOffered(id) ?? unlisted.get(id) ?? findUnlisted(id)
  }

  function findOffered (id: string): ResolvedModel | undefined {
    bareNames ??= collectBareNames(configured, offersByProvider())
    return offersOf(providerOf(id)).get(id) ?? bareNames.get(id)
  }

  function offersOf (id: string): Offers {
    const provider = providers.get(id)
    if (provider === undefined) return noOffers
    const found = offers.get(id) ?? toOffers(id, initialModelNames(provider))
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

  /** Resolves a model that is not listed, by the provider in its name or the one that claims it. */
  function resolveByName (id: string): ResolvedModel | undefined {
    const provider = providerOf(id)
    if (!providers.has(provider)) {
      const claim = claims.find(({ matches }) => matches(id))
      return claim && resolve(`${claim.provider}/${id}`)
    }
    const upstream = id.slice(provider.length + 1)
    if (upstream === '' || !isServable(provider, upstream)) return undefined
    return toResolved(modelFromCatalogue(provider, upstream))
  }

  return {
    /**
     * Finds a model by id, in this order: a configured model; a model a provider offers, as
     * `<provider>/<upstream>` or by its bare name; any other name at a provider, as `<provider>/<anything>`;
     * a bare name that a provider claims. Models that no endpoint serves are not found.
     */
    resolve,

    /** Returns the configured models, then the offered ones, in the order of the configuration. */
    list (): ModelConfig[] {
      const offered = [...offersByProvider().values()].flatMap((models) => [...models.values()])
      const others = offered.filter(({ model }) => !configured.has(model.id))
      return [...configured.values(), ...others].map(({ model }) => model)
    },

    get: (id: string): ModelConfig | undefined => (configured.get(id) ?? findOffered(id))?.model,

    /**
     * Replaces the models a provider offers; with none, the catalogue's apply. Returns how many were dropped.
     * Throws RangeError for an unknown provider.
     */
    setDiscovered (provider: string, upstreamIds: readonly string[]): number {
      if (!providers.has(provider)) throw new RangeError(`There is no provider ${provider}.`)
      const servable = upstreamIds.filter((id) => isServable(provider, id))
      const offered = [...new Set(servable)]
        .filter((id) => id !== '' && id.length + provider.length < limits.idLength)
        .slice(0, limits.discoveredPerProvider)
      if (upstreamIds.length === 0) offers.delete(provider)
      else offers.set(provider, toOffers(provider, offered))
      bareNames = null
      return servable.length - offered.length
    }
  }
}

type Offers = ReadonlyMap<string, ResolvedModel>

const noOffers: Offers = new Map()

function toOffers (provider: string, upstreamIds: readonly string[]): Offers {
  const offered = upstreamIds.map((id) => toResolved(modelFromCatalogue(provider, id)))
  return new Map(offered.map((entry) => [entry.model.id, entry]))
}

/**
 * Collects the providers' own names of models; the first provider that offers a name has it. A name such as
 * `openai/gpt-4o` that starts with another provider's id is left out, so that it always means that provider.
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
