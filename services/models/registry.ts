import { compileGlob } from '../shared/glob.ts'
import type { DeploymentConfig, GatewayConfig, ModelConfig } from '../catalogue/types.ts'
import { modelFromCatalogue, isServable, initialModelNames } from '../catalogue/models.ts'

/**
 * A model and where it runs, in the order in which to try: priority, lower first, then weight, heavier first.
 */
export interface Resolved { model: ModelConfig, deployments: DeploymentConfig[] }

/** The models of one configuration, and what its providers say they offer. */
export interface Registry {
  /**
   * Finds what serves an id: a model of the file; what a provider offers, as `provider/upstream` or by its
   * bare name; anything at all of a configured provider, as `provider/anything`; a bare name that a provider
   * claims. Models known to be of a kind that the gateway does not serve are not found.
   */
  resolve (id: string): Resolved | undefined
  /** The models of the file and those the providers offer, in the order of the configuration. */
  list (): ModelConfig[]
  /** A model that `list` shows. */
  get (id: string): ModelConfig | undefined
  /**
   * Replaces what a provider offers; returns how many ids were left out for their number or form. Without ids
   * the catalogue stands in. Throws RangeError for no such provider.
   */
  setDiscovered (providerId: string, upstreamIds: readonly string[]): number
}

const limits = { discoveredPerProvider: 5_000, idLength: 512, remembered: 1_000 }

/** Creates the registry of a configuration, which itself is never changed. */
export function createRegistry (config: Pick<GatewayConfig, 'providers' | 'models'>): Registry {
  const configured = new Map(config.models.map((model) => [model.id, toResolved(model)]))
  const claims = config.providers.flatMap(({ id, claims }) => {
    return claims.map((glob) => ({ provider: id, matches: compileGlob(glob) }))
  })
  const providers = new Map(config.providers.map((provider) => [provider.id, provider]))
  // Both are filled when first asked for: a start does not wait for a thousand models of the catalogue.
  const offers = new Map<string, Offers>()
  let bareNames: Offers | null = null
  const remembered = new Map<string, Resolved>()

  function resolve (id: string): Resolved | undefined {
    return configured.get(id) ?? findOffered(id) ?? remembered.get(id) ?? remember(id, findUnlisted(id))
  }

  function findOffered (id: string): Resolved | undefined {
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

  /** What nobody lists, but whose name says where it belongs. */
  function findUnlisted (id: string): Resolved | undefined {
    if (id.length > limits.idLength) return undefined
    const provider = providerOf(id)
    if (!providers.has(provider)) {
      const claim = claims.find(({ matches }) => matches(id))
      return claim && resolve(`${claim.provider}/${id}`)
    }
    const upstream = id.slice(provider.length + 1)
    if (upstream === '' || !isServable(provider, upstream)) return undefined
    return toResolved(modelFromCatalogue(provider, upstream))
  }

  function remember (id: string, resolved: Resolved | undefined): Resolved | undefined {
    if (resolved === undefined) return undefined
    const [oldest] = remembered.keys()
    if (oldest !== undefined && remembered.size >= limits.remembered) remembered.delete(oldest)
    remembered.set(id, resolved)
    return resolved
  }

  function setDiscovered (provider: string, upstreamIds: readonly string[]): number {
    if (!providers.has(provider)) throw new RangeError(`There is no provider ${provider}.`)
    const served = upstreamIds.filter((id) => isServable(provider, id))
    const offered = [...new Set(served)]
      .filter((id) => id !== '' && id.length + provider.length < limits.idLength)
      .slice(0, limits.discoveredPerProvider)
    if (upstreamIds.length === 0) offers.delete(provider)
    else offers.set(provider, toOffers(provider, offered))
    bareNames = null
    return served.length - offered.length
  }

  return {
    resolve,
    list () {
      const offered = [...providers.keys()].flatMap((id) => [...offersOf(id).values()])
      const others = offered.filter(({ model }) => !configured.has(model.id))
      return [...configured.values(), ...others].map(({ model }) => model)
    },
    get: (id) => (configured.get(id) ?? findOffered(id))?.model,
    setDiscovered
  }
}

/** Models by their public ids. */
type Offers = ReadonlyMap<string, Resolved>

const noOffers: Offers = new Map()

function toOffers (provider: string, upstreamIds: readonly string[]): Offers {
  const offered = upstreamIds.map((id) => toResolved(modelFromCatalogue(provider, id)))
  return new Map(offered.map((entry) => [entry.model.id, entry]))
}

/**
 * Upstream names by themselves: the first provider that offers one has it. A name such as `openai/gpt-4o`
 * that begins with another provider's id is left out, so that this id always means that provider.
 */
function collectBareNames (
  configured: ReadonlyMap<string, Resolved>, offers: ReadonlyMap<string, Offers>
): Offers {
  const names = new Map<string, Resolved>()
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

function toResolved (model: ModelConfig): Resolved {
  const deployments = model.deployments.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight)
  return { model, deployments }
}
