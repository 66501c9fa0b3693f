import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { SerializerFactory } from '@fastify/fast-json-stringify-compiler'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyHttpOptions, type FastifyInstance } from 'fastify'
import packageFile from './package.json' with { type: 'json' }
import * as gateway from './plugins/gateway/index.ts'
import * as library from './plugins/library/index.ts'
import { registerAll, withOptions, type Registration } from './plugins/register-all.ts'
import routes from './routes/index.ts'
import type { GatewayConfig } from './services/config/catalogue/types.ts'
import type { TollgatePlugin } from './services/extensions/types.ts'
import type { Settings } from './services/config/settings/settings.ts'
import { withoutAzureForm } from './services/http/azure-address.ts'
import { clientErrorHandler } from './services/http/client-errors.ts'
import { compileOnce } from './services/http/compile-once.ts'
import { findCompiled } from './services/http/compiled-schemas.ts'
import { ajvOptions } from './services/http/validation.ts'
import { errorSerializer } from './services/operations/observability/logger.ts'
import type { Timing } from './services/videos/runner/runner-context.ts'
import type { Siblings } from './services/operations/workers/siblings.ts'

export interface BuildOptions {
  settings: Settings
  config: GatewayConfig
  /** Reads the configuration again when its file has changed. */
  reload?: () => GatewayConfig | Promise<GatewayConfig>
  logger?: FastifyBaseLogger
  /** In the order in which their hooks run; none by default. */
  plugins?: readonly TollgatePlugin[]
  /** The other workers of the node; there are none by default. */
  siblings?: Siblings | undefined
  /** Times of jobs that no operator needs to change. */
  videoTiming?: Partial<Timing>
  /** What makes validators and serializers of schemas. */
  compilers?: Compilers
}

/** Make validators of requests and serializers of responses. */
export interface Compilers {
  buildValidator: BuildCompilerFromPool
  buildSerializer: SerializerFactory
}

const require = createRequire(import.meta.url)

/**
 * All gateways of a process share these compilers, because their options are the same. They are not loaded
 * while all that is needed was compiled ahead of time.
 */
export const compilers: Compilers = {
  buildValidator: compileOnce(
    () => require('@fastify/ajv-compiler')(),
    (schema, options) => findCompiled('validator', schema, options)
  ),
  buildSerializer: compileOnce(
    () => require('@fastify/fast-json-stringify-compiler')(),
    (schema, options) => findCompiled('serializer', schema, options)
  )
}

/** A Fastify server with the gateway, ready for `inject` or `listen`. The caller closes it. */
export async function build (options: BuildOptions): Promise<FastifyInstance> {
  const { settings, logger } = options
  const serializers = { err: errorSerializer(settings.providerWords) }
  const app = Fastify({
    ...serverOptions,
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger.child({}, { serializers }) }),
    trustProxy: settings.trustedProxies.length === 0 ? false : settings.trustedProxies
  })
  app.server.maxConnections = settings.maxConnections
  try {
    await registerGateway(app, options)
    await registerAll(app, serverPlugins(settings))
    // Its hook waits for open connections, so that of every other plugin comes first.
    await app.register(gateway.stopListening)
    return app
  } catch (error) {
    // What was opened before would keep the process running.
    await app.close()
    throw error
  }
}

/** The options of a server that serves only the gateway. */
const serverOptions = {
  logController: new LogController({ disableRequestLogging: true }),
  // Fastify would load its own at once.
  schemaController: { compilersFactory: compilers },
  routerOptions: { maxParamLength: 1024 },
  // Longer than the idle time of the usual load balancers, which must be the ones to close.
  keepAliveTimeout: 72_000,
  // Bounds the time a client may take to send its request, not the time of a response.
  requestTimeout: 300_000,
  http: {
    maxHeaderSize: 16 * 1024,
    // The time for the headers alone, which are held in memory before a key is known.
    headersTimeout: 20_000,
    connectionsCheckingInterval: 5_000,
    // Refused with the error shape of OpenAI's API.
    requireHostHeader: false
  },
  return503OnClosing: false,
  // The store may wait half a minute for its database, and a migration may take longer.
  pluginTimeout: 0,
  frameworkErrors: gateway.frameworkErrors,
  rewriteUrl: ({ url = '/' }) => withoutAzureForm(url),
  clientErrorHandler
} satisfies FastifyHttpOptions<Server>

/** Adds the gateway to a server or to a scope of one: all that it needs there, and its routes. */
export async function registerGateway (app: FastifyInstance, options: BuildOptions): Promise<void> {
  const { buildValidator, buildSerializer } = options.compilers ?? compilers
  app.setGenReqId(gateway.requestIdOf)
  app.setValidatorCompiler(buildValidator({}, { customOptions: ajvOptions }))
  const compileSerializer = buildSerializer({}, {})
  app.setSerializerCompiler(({ httpStatus = '', ...route }) => compileSerializer({ ...route, httpStatus }))
  await registerAll(app, pluginsOf(app, options))
  await app.register(routes, { publicBaseUrl: options.settings.publicBaseUrl })
}

/** The plugins that change a server as a whole. */
function serverPlugins (
  { alternative, drainDelayMs, drainMs, maxConnections, metricsAddress }: Settings
): Registration[] {
  return [
    withOptions(gateway.expectations, {}),
    withOptions(gateway.leaving, { delayMs: drainDelayMs, limitMs: drainMs }),
    ...metricsAddress === null ? [] : [withOptions(gateway.metricsPort, metricsAddress)],
    ...alternative === null ? [] : [withOptions(gateway.secondAddress, { ...alternative, maxConnections })]
  ]
}

/** The plugins of a gateway with their options, in any order: each names those it depends on. */
function pluginsOf (
  app: FastifyInstance,
  { settings, config, reload = () => config, siblings, plugins = [], videoTiming = {} }: BuildOptions
): Registration[] {
  const { adminKey, publicBaseUrl, traces, trustedOrigins } = settings
  const { version } = packageFile
  return [
    withOptions(gateway.accessLog, {}),
    withOptions(gateway.accounts, {}),
    withOptions(gateway.alerts, { trustedOrigins }),
    withOptions(library.auth, { adminKey, console: () => app.models.config().console }),
    withOptions(gateway.baseUrl, { publicBaseUrl }),
    withOptions(gateway.catalogue, { url: settings.catalogueUrl, load: reload }),
    withOptions(gateway.chat, { cacheBytes: settings.cacheBytes }),
    withOptions(gateway.configuration, { path: settings.configPath, running: config, load: reload }),
    withOptions(library.cors, { origins: settings.corsOrigins }),
    withOptions(gateway.deployments, {}),
    withOptions(gateway.discovery, { local: settings.discover && settings.configPath === null }),
    withOptions(gateway.errors, {}),
    withOptions(gateway.extensions, { plugins }),
    withOptions(library.formBody, {}),
    withOptions(gateway.gracefulClose, { limitMs: settings.drainMs }),
    withOptions(gateway.health, { storeGraceMs: settings.storeGraceMs }),
    withOptions(gateway.httpRules, {}),
    withOptions(gateway.images, {}),
    withOptions(gateway.exchange, {}),
    withOptions(gateway.jsonBody, { limits: settings.bodyLimits }),
    withOptions(gateway.ledger, { takeoverMs: config.video.takeoverAfterMs, requests: config.requests }),
    withOptions(gateway.limits, { billingPerMinute: settings.billingPerMinute }),
    withOptions(gateway.media, settings.media),
    withOptions(library.metrics, { ...settings.metricsLabels, nodeMetrics: siblings?.metrics }),
    withOptions(gateway.models, { config }),
    withOptions(gateway.modelLists, {}),
    withOptions(library.openapi, { version }),
    withOptions(gateway.overload, { ...settings.load, nodeCounts: siblings?.counts }),
    withOptions(gateway.providers, { trustedOrigins }),
    withOptions(library.reference, {}),
    withOptions(gateway.requestLog, settings.requestLog),
    withOptions(gateway.requests, { keepsWords: settings.providerWords }),
    withOptions(gateway.requestSummary, {}),
    withOptions(gateway.responses, settings.responses),
    withOptions(gateway.routeTable, {}),
    withOptions(gateway.routing, {}),
    withOptions(gateway.secrets, settings.secretKeys),
    withOptions(gateway.sessions, { publicBaseUrl }),
    withOptions(gateway.settled, {}),
    withOptions(gateway.store, { url: settings.databaseUrl }),
    withOptions(gateway.requestRecord, { keepsWords: settings.providerWords }),
    ...traces === null ? [] : [withOptions(library.traces, { ...traces, version })],
    withOptions(gateway.usageRollUp, {}),
    withOptions(gateway.videos, { timing: videoTiming, webhookOrigins: settings.webhookOrigins })
  ]
}
