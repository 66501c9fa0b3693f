import type { GatewayConfig, ModelConfig, ProviderConfig } from '../catalogue/types.ts'
import type { Providers } from '../providers/registry.ts'
import { createRegistry, type Registry, type Resolved } from './registry.ts'

/** The models on offer, whatever configuration is running. */
export interface Models {
  resolve (id: string): Resolved | undefined
  list (): ModelConfig[]
  /** Another number whenever what `list` shows has changed. */
  version (): number
  /** The running configuration, with the providers that were found at run time. */
  config (): GatewayConfig
  /** Makes `config` the running configuration. Requests under way keep what they began with. */
  apply (config: GatewayConfig): void
  /** Adds providers that were found at run time, unless the configuration has one of that id. */
  addProviders (found: readonly ProviderConfig[]): void
  /** Asks every provider that has `discover` for its models; resolves when all have answered or failed. */
  discover (signal: AbortSignal): Promise<void>
}

interface ModelsOptions {
  config: GatewayConfig
  providers: Providers
  /** Hears of providers whose models could not be listed; their models can still be named. */
  onUnlisted: (provider: string, error: unknown) => void
  /** Hears of providers that offer more models than are kept. */
  onTruncated: (provider: string, leftOut: number) => void
}

/** Joins the registry of the running configuration with what its providers say they offer. */
export function createModels ({ config, providers, onUnlisted, onTruncated }: ModelsOptions): Models {
  let running = config
  let registry: Registry
  let version = 0
  let found: readonly ProviderConfig[] = []
  const offered = new Map<string, string[]>()

  function apply (next: GatewayConfig): void {
    const all = [...next.providers]
    for (const one of found) {
      if (!all.some(({ id, baseUrl }) => id === one.id || isSamePlace(baseUrl, one.baseUrl))) all.push(one)
    }
    providers.apply(all)
    registry = createRegistry({ ...next, providers: all })
    for (const { id } of all) registry.setDiscovered(id, offered.get(id) ?? [])
    running = { ...next, providers: all }
    version++
  }

  async function listOne ({ id }: ProviderConfig, signal: AbortSignal): Promise<void> {
    try {
      const ids = await providers.get(id)?.models?.(signal)
      if (ids === undefined) return
      // The configuration may have changed while the provider was asked.
      if (!running.providers.some(provider => provider.id === id)) return
      offered.set(id, ids)
      const leftOut = registry.setDiscovered(id, ids)
      version++
      if (leftOut > 0) onTruncated(id, leftOut)
    } catch (error) {
      if (!signal.aborted) onUnlisted(id, error)
    }
  }

  registry = createRegistry(config)
  apply(config)
  return {
    resolve: id => registry.resolve(id),
    list: () => registry.list(),
    version: () => version,
    config: () => running,
    apply,
    addProviders (more) {
      found = more
      apply(running)
    },
    async discover (signal) {
      await Promise.all(running.providers.filter(({ discover }) => discover).map(one => listOne(one, signal)))
    }
  }
}

/** Whether two base URLs lead to the same server, whatever name this machine goes by. */
function isSamePlace (one: string, other: string): boolean {
  const plain = (url: string) => url.replace(
    /\/\/(localhost|\[::1\])(?=[:/])/, '//127.0.0.1'
  ).replace(/\/$/, '')
  return plain(one) === plain(other)
}
