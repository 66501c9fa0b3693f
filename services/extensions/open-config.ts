import type { GatewayConfig } from '../config/catalogue/types.ts'
import type { TollgatePlugin } from './types.ts'

interface OpenConfig {
  config: GatewayConfig
  plugins: readonly TollgatePlugin[]
  /** Loads the configuration again. Rejects with ConfigError. */
  reload (): Promise<GatewayConfig>
}

/**
 * Loads a configuration and its plugins, which follow those that are `given`; their paths are relative to the
 * file `source`. Rejects with ConfigError, and with TypeError if a given one is not a plugin.
 */
export async function openConfig (
  load: () => Promise<GatewayConfig>, source: string, given: readonly TollgatePlugin[] = []
): Promise<OpenConfig> {
  const config = await load()
  const { plugins: named = [] } = config
  if (given.length + named.length === 0) return { config, plugins: [], reload: load }
  const { checkProtocols, loadPlugins } = await import('./load-plugins.ts')
  const plugins = await loadPlugins(named, source, given)
  const check = (loaded: GatewayConfig) => checkProtocols(loaded, plugins, source)
  return { config: check(config), plugins, reload: async () => check(await load()) }
}
