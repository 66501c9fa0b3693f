import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { SerializerFactory } from '@fastify/fast-json-stringify-compiler'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import packageFile from './package.json' with { type: 'json' }
import * as gateway from './plugins/gateway/index.ts'
import * as library from './plugins/library/index.ts'
import routes from './routes/index.ts'
import type { GatewayConfig } from './services/config/catalogue/types.ts'
import type { Settings } from './services/config/settings/settings.ts'
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
  /** The other workers of the node; there are none by default. */
  siblings?: Siblings | undefined
  /** Times of jobs that no operator needs to change. */
  videoTiming?: Partial<Timing>
  /** What makes validators and serializers of schemas. */
  compilers?: Compilers
}

/** Make validators of requests and serializers of answers. */
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

/** Assembles the gateway, ready for `inject` or `listen`. The caller closes it. */
export async function build (options: BuildOptions): Promise<FastifyInstance> {
  const { settings, logger } = options
  const serializers = { err: errorSerializer(settings.providerWords) }
  const app = Fastify({
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger.child({}, { serializers }) }),
    logController: new LogController({ disableRequestLogging: true }),
    ajv: { customOptions: ajvOptions },
    schemaController: {
      compilersFactory: options.compilers ?? compilers
    },
    routerOptions: { maxParamLength: 1024 },
    genReqId: gateway.requestIdOf,
    trustProxy: settings.trustedProxies.length === 0 ? false : settings.trustedProxies,
    // Longer than the idle time of the usual load balancers, which must be the ones to close.
    keepAliveTimeout: 72_000,
    // Bounds the time a client may take to send its request, not the time an answer takes.
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
    clientErrorHandler
  })
  try {
    await registerAll(app, options)
    return app
  } catch (error) {
    // What was opened before would keep the process running.
    await app.close()
    throw error
  }
}

async function registerAll (app: FastifyInstance, options: BuildOptions): Promise<void> {
  const { settings, config, reload = () => config, siblings, videoTiming = {} } = options
  await app.register(gateway.trace, { keepsWords: settings.providerWords })
  await app.register(gateway.errors)
  await app.register(gateway.routeTable)
  await app.register(gateway.httpRules)
  if (settings.corsOrigins.length > 0) {
    await app.register(library.cors, { origins: settings.corsOrigins })
  }
  app.server.maxConnections = settings.maxConnections
  await app.register(gateway.store, { url: settings.databaseUrl })
  await app.register(gateway.secrets, settings.secretKeys)
  await app.register(gateway.sessions, { publicBaseUrl: settings.publicBaseUrl })
  const { adminKey } = settings
  await app.register(library.auth, { adminKey, console: () => app.models.config().console })
  await app.register(gateway.requestSummary)
  await app.register(library.openapi, { version: packageFile.version })
  await app.register(library.reference)
  await app.register(gateway.accessLog)
  await app.register(library.metrics, { ...settings.metricsLabels, nodeMetrics: siblings?.metrics })
  const { traces } = settings
  if (traces !== null) await app.register(library.traces, { ...traces, version: packageFile.version })
  await app.register(gateway.gracefulClose, { delayMs: settings.drainDelayMs, limitMs: settings.drainMs })
  await app.register(gateway.overload, { ...settings.load, nodeCounts: siblings?.counts })
  await app.register(gateway.requestLog, settings.requestLog)
  await app.register(gateway.accounts)
  await app.register(gateway.ledger, {
    takeoverMs: config.video.takeoverAfterMs,
    requests: config.requests
  })
  await app.register(gateway.health, { storeGraceMs: settings.storeGraceMs })
  await app.register(gateway.usageRollUp)
  await app.register(gateway.baseUrl, { publicBaseUrl: settings.publicBaseUrl })
  await app.register(gateway.media, settings.media)
  await app.register(gateway.providers, { trustedOrigins: settings.trustedOrigins })
  await app.register(gateway.models, { config })
  await app.register(gateway.alerts, { trustedOrigins: settings.trustedOrigins })
  await app.register(gateway.deployments)
  await app.register(gateway.jsonBody, { limits: settings.bodyLimits })
  await app.register(library.formBody)
  await app.register(gateway.limits, { billingPerMinute: settings.billingPerMinute })
  await app.register(gateway.incoming)
  await app.register(gateway.routing, { keepFeedbackMs: settings.requestLog.keepMs })
  await app.register(gateway.requests, { keepsWords: settings.providerWords })
  await app.register(gateway.chat, { cacheBytes: settings.cacheBytes })
  await app.register(gateway.responses, settings.responses)
  await app.register(gateway.images)
  await app.register(gateway.videos, { timing: videoTiming, webhookOrigins: settings.webhookOrigins })
  await app.register(gateway.discovery, { local: settings.discover && settings.configPath === null })
  await app.register(gateway.configuration, { path: settings.configPath, running: config, load: reload })
  const { alternative, maxConnections } = settings
  if (alternative !== null) await app.register(gateway.secondAddress, { ...alternative, maxConnections })
  if (settings.metricsAddress !== null) await app.register(gateway.metricsPort, settings.metricsAddress)
  await app.register(routes, { publicBaseUrl: settings.publicBaseUrl })
  await app.register(gateway.stopListening)
}
