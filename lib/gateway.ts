import type { FastifyInstance } from 'fastify'
import { build, registerGateway, type BuildOptions } from '../fastify.config.ts'
import { loadConfig } from '../services/config/load.ts'
import { readSettings, type Settings } from '../services/config/settings/settings.ts'
import { bootstrap } from '../services/keys/bootstrap.ts'
import { errorSerializer } from '../services/operations/observability/logger.ts'
import { openConfig } from '../services/extensions/open-config.ts'
import { refusedLength } from '../services/providers/video-length.ts'
import type { GatewayOptions } from './options.ts'

/** Creates a server with the gateway. */
export async function create (options: GatewayOptions): Promise<FastifyInstance> {
  const buildOptions = await toBuildOptions(options)
  const app = await build({ ...buildOptions, ...options.logger && { logger: options.logger } })
  try {
    await createFirstKey(app, buildOptions.settings, options)
    return app
  } catch (error) {
    await app.close()
    throw error
  }
}

/** Adds the gateway to a scope with a prefix. Throws an Error without one. */
export async function embed (app: FastifyInstance, options: GatewayOptions): Promise<void> {
  if (app.prefix === '') {
    throw new Error('Tollgate responds to every path that no route matches, so it needs a prefix: ' +
      'app.register(tollgate, { prefix: \'/ai\' })')
  }
  const buildOptions = await toBuildOptions(options)
  const serializers = { err: errorSerializer(buildOptions.settings.providerWords) }
  const log = (options.logger ?? app.log).child({}, { serializers })
  app.decorate('log', log)
  app.setChildLoggerFactory((_parent, bindings, childOptions) => log.child(bindings, childOptions))
  await registerGateway(app, buildOptions)
  // A closing server waits for every connection that is kept alive.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (app.isDraining()) reply.header('connection', 'close')
    done(null, payload)
  })
  await createFirstKey(app, buildOptions.settings, options)
}

/** Reads the configuration and the settings, and loads plugins. Rejects with ConfigError or TypeError. */
export async function toBuildOptions (
  { config, plugins = [], database, media, adminKey, publicBaseUrl, env = {} }: GatewayOptions
): Promise<BuildOptions & Required<Pick<BuildOptions, 'reload'>>> {
  const path = typeof config === 'string' ? config : null
  const variables = {
    TOLLGATE_DISCOVER: 'off',
    ...env,
    ...database !== undefined && { DATABASE_URL: database },
    ...media !== undefined && { TOLLGATE_MEDIA: media },
    ...adminKey !== undefined && { TOLLGATE_ADMIN_KEY: adminKey },
    ...publicBaseUrl !== undefined && { PUBLIC_BASE_URL: publicBaseUrl }
  }
  const settings = { ...readSettings(variables), configPath: path }
  const options = { refusedLength, hasPlugins: plugins.length > 0 }
  const load = async () => {
    if (config === undefined || path !== null) return await loadConfig({ path, env, ...options })
    const { parseConfig } = await import('../services/config/read/parse.ts')
    // JSON is YAML.
    return parseConfig(JSON.stringify(config, null, 2), env, 'config', options)
  }
  return { settings, ...await openConfig(load, path ?? 'config', plugins) }
}

/** Creates the first key in an empty database if `onFirstKey` is given. */
export async function createFirstKey (
  { store, keys, accounts }: FastifyInstance, { startingCreditNano }: Settings,
  { onFirstKey }: Pick<GatewayOptions, 'onFirstKey'>
): Promise<void> {
  if (onFirstKey === undefined) return
  const first = await bootstrap({ store, keys, accounts, startingCreditNano })
  if (first !== null) onFirstKey(first.key)
}
