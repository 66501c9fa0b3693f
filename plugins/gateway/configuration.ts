import { isDeepStrictEqual } from 'node:util'
import fp from 'fastify-plugin'
import type { GatewayConfig } from '../../services/config/catalogue/types.ts'
import { longestRequestMs } from '../../services/billing/ledger/options.ts'
import { configWarnings } from '../../services/operations/observability/config-warnings.ts'
import { watchConfig } from '../../services/config/watch/watch.ts'

interface ConfigurationOptions {
  /** The operator's file; null if there is none. */
  path: string | null
  /** The configuration loaded at startup. */
  running: GatewayConfig
  load: () => GatewayConfig | Promise<GatewayConfig>
}

/**
 * Reloads the operator's file when it changes, or on SIGHUP. An invalid file is logged and not applied;
 * probable mistakes of a valid one are logged.
 */
export default fp<ConfigurationOptions>(async (app, { path, running, load }) => {
  const warn = (config: GatewayConfig): void => {
    for (const warning of configWarnings(config, app.models.resolve)) app.log.warn({ path }, `configuration: ${warning}`)
  }
  warn(running)
  if (path === null) return
  const watcher = watchConfig({
    path,
    load,
    running,
    onChange: config => {
      app.models.apply(config)
      app.ledger.allowRequests(longestRequestMs(config.requests))
      app.rediscover()
      warn(config)
      if (!isDeepStrictEqual(pluginsOf(config), pluginsOf(running))) {
        app.log.warn({ path }, 'a change of plugins takes effect at the next start')
      }
      app.log.info({ path, models: config.models.length, providers: config.providers.length }, 'configuration reloaded')
    },
    onError: error => app.log.error({ path }, `the configuration was not reloaded: ${error.message}`)
  })
  const reload = (): void => { watcher.reload() }
  process.on('SIGHUP', reload)
  app.addHook('preClose', async () => {
    process.off('SIGHUP', reload)
    await watcher.close()
  })
}, { name: 'configuration', dependencies: ['models', 'discovery', 'ledger'] })

/** The plugins of a configuration, wherever they stand in the file. */
function pluginsOf ({ plugins = [] }: GatewayConfig): object[] {
  return plugins.map(({ line: _, column: _column, ...plugin }) => plugin)
}
