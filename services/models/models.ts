import type { GatewayConfig, ModelConfig, ProviderConfig } from '../config/catalogue/types.ts'
import type { Providers } from '../providers/registry.ts'
import { compileGlob } from '../shared/glob.ts'
import type { RegionList } from '../shared/regions.ts'
import type { Stated } from './kind-at.ts'
import { hintFor } from './missing-hint.ts'
import { createModelRegistry, isSold, type ModelRegistry, type ResolvedModel } from './registry.ts'

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
  const stated: Stated = (provider, model) => providers.get(provider)?.statedOf?.(model)

  function apply (next: GatewayConfig): void {
    const all = [...next.providers]
    for (const one of found) {
      if (!all.some(({ id, baseUrl }) => id === one.id || isSameServer(baseUrl, one.baseUrl))) all.push(one)
    }
    providers.apply(all)
    registry = createModelRegistry({ ...next, providers: all }, stated)
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

  apply(config)
  return {
    resolve: (id: string): ResolvedModel | undefined => registry.resolve(id),
    /**
     * The video models of an id: one, or those of a policy that names only video models, one by one. Patterns
     * such as `*` never match a video model, which is too expensive to be chosen by accident.
     */
    resolveVideos,
    /** Where the requests of a policy may be processed; null: anywhere, or it is no policy. */
    regionsOf (policy: string): RegionList {
      return running.policies.find(({ id }) => id === policy)?.regions ?? null
    },
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
