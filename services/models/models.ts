import { initialModelNames, modelFromCatalogue, withFamilyPrice } from '../config/catalogue/models.ts'
import type { DeploymentConfig, GatewayConfig, ModelConfig, ProviderConfig } from '../config/catalogue/types.ts'
import type { Providers } from '../providers/registry.ts'
import { compileGlob } from '../shared/glob.ts'
import { createLru } from '../shared/lru.ts'
import type { ModelKind } from '../config/catalogue/kinds.ts'
import { hintFor } from './missing-hint.ts'
import { kindAt, servedKindAt, type StatedKind } from './kind-at.ts'

interface Alias { matches (name: string): boolean, model: string }

interface ModelsOptions {
  config: GatewayConfig
  providers: Pick<Providers, 'get' | 'apply'>
  /** Called for a provider whose models cannot be listed. They can still be requested. */
  onUnlisted: (provider: string, error: unknown) => void
  onTruncated: (provider: string, droppedCount: number) => void
}

export type Models = ReturnType<typeof createModels>

/**
 * Keeps the registry of the running configuration, and the models its providers offer. Long because its short
 * methods share private state.
 */
export function createModels ({ config, providers, onUnlisted, onTruncated }: ModelsOptions) {
  let running = config
  let registry: ModelRegistry
  let version = 0
  let found: readonly ProviderConfig[] = []
  let aliases: readonly Alias[] = []
  const offered = new Map<string, string[]>()
  const statedKind: StatedKind = (provider, model) => providers.get(provider)?.kindOf?.(model)

  function apply (next: GatewayConfig): void {
    const all = [...next.providers]
    for (const one of found) {
      if (!all.some(({ id, baseUrl }) => id === one.id || isSameServer(baseUrl, one.baseUrl))) all.push(one)
    }
    providers.apply(all)
    registry = createModelRegistry({ ...next, providers: all }, statedKind)
    for (const { id } of all) registry.setDiscovered(id, offered.get(id) ?? [])
    running = { ...next, providers: all }
    aliases = next.aliases.map(({ pattern, model }) => ({ matches: compileGlob(pattern), model }))
    version++
  }

  async function listOne ({ id }: ProviderConfig, signal: AbortSignal): Promise<void> {
    try {
      const ids = await providers.get(id)?.models?.(signal)
      if (ids === undefined) return
      // The configuration may have changed during the call.
      if (!running.providers.some(provider => provider.id === id)) return
      offered.set(id, ids)
      const droppedCount = registry.setDiscovered(id, ids)
      version++
      if (droppedCount > 0) onTruncated(id, droppedCount)
    } catch (error) {
      if (!signal.aborted) onUnlisted(id, error)
    }
  }

  function resolveVideos (id: string): ResolvedModel[] {
    const named = registry.resolve(id)
    if (named !== undefined) return named.model.kind === 'video' ? [named] : []
    const models = running.policies.find(policy => policy.id === id)?.models.map(registry.resolve) ?? []
    const videos = models.filter(found => found?.model.kind === 'video').filter(found => found !== undefined)
    return videos.length === models.length ? videos : []
  }

  /** The names that a key may send. */
  function namesFor (mayUse: (model: string) => boolean): string[] {
    const models = registry.list().map(({ id }) => id).filter(mayUse)
    const bareNames = models.map(id => id.slice(id.indexOf('/') + 1)).filter(name => registry.get(name) !== undefined)
    return [...models, ...bareNames, ...running.policies.map(({ id }) => id)]
  }

  registry = createModelRegistry(config, statedKind)
  apply(config)
  return {
    resolve: (id: string): ResolvedModel | undefined => registry.resolve(id),
    /**
     * The video models of an id: one, or those of a policy that names only video models, one by one. Patterns
     * such as `*` never match a video model, which is too expensive to be chosen by accident.
     */
    resolveVideos,
    list: (): ModelConfig[] => registry.list(),
    /** What a name means: itself if it is sold, else the model or policy of the first alias that matches. */
    targetOf (id: string): string {
      if (aliases.length === 0 || running.policies.some(policy => policy.id === id)) return id
      const model = registry.resolve(id)?.model
      if (model !== undefined && isSold(model)) return id
      return aliases.find(({ matches }) => matches(id))?.model ?? id
    },
    /** What a key gets to read about a name that it cannot use: a sentence, or an empty text. */
    hintFor (id: string, mayUse: (model: string) => boolean): string {
      return hintFor(id, registry.unservedKind(id), () => namesFor(mayUse))
    },
    /** The ids of the chat models that are refused because they have no price. */
    unpriced: (): string[] => registry.list().filter(isUnpriced).map(({ id }) => id),
    /** Whether a model chats through every API, not only through Responses. */
    servesChat: ({ kind, deployments }: Pick<ModelConfig, 'kind' | 'deployments'>): boolean =>
      kind === 'chat' && deployments.some(({ provider, model }) =>
        providers.get(provider)?.responsesOnly?.test(model) !== true),
    /** Changes whenever the result of `list` may have changed. */
    version: (): number => version,
    /** The running configuration, including providers found at run time. */
    config: (): GatewayConfig => running,
    /** Replaces the configuration; running requests keep the previous one. */
    apply,
    /** Adds providers found at run time, unless the configuration has one with that id or URL. */
    addProviders (more: readonly ProviderConfig[]): void {
      found = more
      apply(running)
    },
    /** Lists the models of every provider with `discover`; resolves when all have responded or failed. */
    async discover (signal: AbortSignal): Promise<void> {
      await Promise.all(running.providers.filter(({ discover }) => discover).map(one => listOne(one, signal)))
    }
  }
}

function isUnpriced ({ kind, price, deployments }: ModelConfig): boolean {
  return kind === 'chat' && price === null && deployments.every(deployment => deployment.price == null)
}

/** Whether two base URLs lead to the same server, considering the names of the loopback address. */
function isSameServer (one: string, other: string): boolean {
  const normalized = (url: string) => url.replace(/\/\/(localhost|\[::1\])(?=[:/])/, '//127.0.0.1').replace(/\/$/, '')
  return normalized(one) === normalized(other)
}

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
  config: Pick<GatewayConfig, 'providers' | 'models' | 'unpriced'>, statedKind: StatedKind = () => undefined
) {
  const priced = config.unpriced === 'family' ? withFamilyPrice : (model: ModelConfig) => model
  const configured = new Map(config.models.map((model) => [model.id, toResolved(priced(model))]))
  const claims = config.providers.flatMap(({ id, claims }) => {
    return claims.map((glob) => ({ provider: id, matches: compileGlob(glob) }))
  })
  const providers = new Map(config.providers.map((provider) => [provider.id, provider]))
  // Both are filled on demand, because the start should not wait for a thousand catalogue models.
  const offers = new Map<string, Offers>()
  const discovered = new Set<string>()
  let bareNames: Offers | null = null
  const unlisted = createLru<ResolvedModel>(limits.cachedUnlisted)

  function resolve (id: string): ResolvedModel | undefined {
    return configured.get(id) ?? findOffered(id) ?? unlisted.get(id) ?? findUnlisted(id)
  }

  function findOffered (id: string): ResolvedModel | undefined {
    bareNames ??= collectBareNames(configured, offersByProvider())
    return offersOf(providerOf(id)).get(id) ?? bareNames.get(id)
  }

  /** A model as a provider offers it; null if the provider cannot serve it here. */
  function offeredModel (provider: ProviderConfig, upstream: string): ModelConfig | null {
    const kind = servedKindAt(provider, upstream, statedKind)
    return kind && priced(modelFromCatalogue(provider.id, upstream, kind))
  }

  function offersOf (id: string): Offers {
    const provider = providers.get(id)
    if (provider === undefined) return noOffers
    const found = offers.get(id) ?? toOffers(provider, initialModelNames(provider), offeredModel)
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
      if (provider === undefined || servedKindAt(provider, upstream, statedKind) !== null) return undefined
      return kindAt(provider, upstream, statedKind)
    },

    /**
     * Replaces the models of a provider; with none, the catalogue's apply. Returns the number of dropped
     * ones. Throws RangeError for an unknown provider.
     */
    setDiscovered (provider: string, upstreamIds: readonly string[]): number {
      const config = providers.get(provider)
      if (config === undefined) throw new RangeError(`There is no provider ${provider}.`)
      const servable = upstreamIds.filter((id) => servedKindAt(config, id, statedKind) !== null)
      const offered = [...new Set(servable)]
        .filter((id) => id !== '' && id.length + provider.length < limits.idLength)
        .slice(0, limits.discoveredPerProvider)
      if (upstreamIds.length === 0) {
        offers.delete(provider)
        discovered.delete(provider)
      } else {
        offers.set(provider, toOffers(config, offered, offeredModel))
        discovered.add(provider)
      }
      bareNames = null
      return servable.length - offered.length
    }
  }
}

type Offers = ReadonlyMap<string, ResolvedModel>

const noOffers: Offers = new Map()

function toOffers (
  provider: ProviderConfig, upstreamIds: readonly string[],
  offeredModel: (provider: ProviderConfig, upstream: string) => ModelConfig | null
): Offers {
  const models = upstreamIds.map((id) => offeredModel(provider, id)).filter((model) => model !== null)
  return new Map(models.map((model) => [model.id, toResolved(model)]))
}

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
