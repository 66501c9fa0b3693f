import type { GatewayConfig, ModelConfig, ProviderConfig } from '../catalogue/types.ts'
import type { Providers } from '../providers/registry.ts'
import { createModelRegistry, type ModelRegistry, type ResolvedModel } from './registry.ts'

interface ModelsOptions {
  config: GatewayConfig
  providers: Pick<Providers, 'get' | 'apply'>
  /** Called for a provider whose models cannot be listed; they can still be requested. */
  onUnlisted: (provider: string, error: unknown) => void
  onTruncated: (provider: string, droppedCount: number) => void
}

export type Models = ReturnType<typeof createModels>

/** Keeps the registry of the running configuration, and the models its providers offer. */
export function createModels ({ config, providers, onUnlisted, onTruncated }: ModelsOptions) {
  let running = config
  let registry: ModelRegistry
  let version = 0
  let found: readonly ProviderConfig[] = []
  const offered = new Map<string, string[]>()

  function apply (next: GatewayConfig): void {
    const all = [...next.providers]
    for (const one of found) {
      if (!all.some(({ id, baseUrl }) => id === one.id || isSameServer(baseUrl, one.baseUrl))) all.push(one)
    }
    providers.apply(all)
    registry = createModelRegistry({ ...next, providers: all })
    for (const { id } of all) registry.setDiscovered(id, offered.get(id) ?? [])
    running = { ...next, providers: all }
    version++
  }

  async function listOne ({ id }: ProviderConfig, signal: AbortSignal): Promise<void> {
    try {
      const ids = await providers.get(id)?.models?.(signal)
      if (ids === undefined) return
      // The configuration may have changed in the meantime.
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

  registry = createModelRegistry(config)
  apply(config)
  return {
    resolve: (id: string): ResolvedModel | undefined => registry.resolve(id),
    /**
     * The video models of an id: one, or those of a policy that names video models one by one and nothing
     * else. Patterns such as `*` never mean a video, which is too expensive to be chosen by accident.
     */
    resolveVideos,
    list: (): ModelConfig[] => registry.list(),
    /** Changes whenever the result of `list` may have changed. */
    version: (): number => version,
    /** The running configuration, including providers found at run time. */
    config: (): GatewayConfig => running,
    /** Requests in progress keep the former configuration. */
    apply,
    /** Adds providers found at run time, unless the configuration has one with that id or URL. */
    addProviders (more: readonly ProviderConfig[]): void {
      found = more
      apply(running)
    },
    /** Lists the models of every provider with `discover`, until all have answered or failed. */
    async discover (signal: AbortSignal): Promise<void> {
      await Promise.all(running.providers.filter(({ discover }) => discover).map(one => listOne(one, signal)))
    }
  }
}

/** Whether two base URLs lead to the same server, considering the names of the loopback address. */
function isSameServer (one: string, other: string): boolean {
  const normalized = (url: string) => url.replace(/\/\/(localhost|\[::1\])(?=[:/])/, '//127.0.0.1').replace(/\/$/, '')
  return normalized(one) === normalized(other)
}
