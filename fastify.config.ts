import AjvCompiler from '@fastify/ajv-compiler'
import SerializerSelector from '@fastify/fast-json-stringify-compiler'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import accessLog from './plugins/ops/access-log.ts'
import accounts from './plugins/core/accounts.ts'
import auth from './plugins/core/auth.ts'
import baseUrl from './plugins/http/base-url.ts'
import chat from './plugins/use/chat.ts'
import configuration from './plugins/ops/configuration.ts'
import delivery from './plugins/http/sse-reply.ts'
import deployments from './plugins/core/deployments.ts'
import discovery from './plugins/ops/discovery.ts'
import drain from './plugins/http/graceful-close.ts'
import errors, { frameworkErrors } from './plugins/http/errors.ts'
import requestSummary from './plugins/http/request-summary.ts'
import firstKey from './plugins/ops/first-key.ts'
import incoming from './plugins/http/incoming.ts'
import images from './plugins/use/images.ts'
import jsonBody from './plugins/http/json-body.ts'
import health from './plugins/ops/health.ts'
import ledger from './plugins/core/ledger.ts'
import limits from './plugins/core/limits.ts'
import media from './plugins/core/media.ts'
import metrics from './plugins/ops/metrics.ts'
import metricsPort from './plugins/ops/metrics-port.ts'
import models from './plugins/core/models.ts'
import openapi from './plugins/ops/openapi.ts'
import overload from './plugins/http/overload.ts'
import providers from './plugins/core/providers.ts'
import routing from './plugins/core/routing.ts'
import requestId, { requestIdOf } from './plugins/http/request-id.ts'
import requests from './plugins/use/requests.ts'
import requestLog from './plugins/ops/request-log.ts'
import secondAddress from './plugins/http/second-address.ts'
import store from './plugins/core/store.ts'
import trace from './plugins/http/trace.ts'
import traces from './plugins/ops/traces.ts'
import videos from './plugins/use/videos.ts'
import admin from './routes/admin/index.ts'
import docs from './routes/docs.ts'
import healthRoutes from './routes/health.ts'
import mediaRoutes from './routes/media.ts'
import metricsRoutes from './routes/metrics.ts'
import v1 from './routes/v1/index.ts'
import { compileOnce } from './services/http/compile-once.ts'
import { clientErrorHandler } from './services/http/client-errors.ts'
import type { GatewayConfig } from './services/catalogue/types.ts'
import { loadConfig } from './services/config/load.ts'
import { readSettings, type Settings } from './services/config/settings/settings.ts'
import { createLogger } from './services/observability/logger.ts'
import { ajvOptions } from './services/http/validation.ts'
import type { Timing } from './services/videos/runner/runner-context.ts'
import { welcome } from './services/http/startup-banner.ts'
import packageFile from './package.json' with { type: 'json' }

const compilersFactory = {
  buildValidator: compileOnce(AjvCompiler()),
  buildSerializer: compileOnce(SerializerSelector())
}

export interface BuildOptions {
  settings: Settings
  config: GatewayConfig
  logger?: FastifyBaseLogger
  /** Times of jobs that no operator needs to change. */
  videoTiming?: Partial<Timing>
}

/** Who stops a node gives it half a minute; clients that wait for videos are let go before. */
const longestReleaseMs = 25_000

/** Assembles the gateway, ready for `inject` or `listen`. The caller closes it. */
export async function build (options: BuildOptions): Promise<FastifyInstance> {
  const { settings, config, logger, videoTiming } = options
  const app = Fastify({
    ...(logger === undefined ? { logger: false } : { loggerInstance: logger }),
    // plugins/ops/access-log.ts writes one line per request.
    logController: new LogController({ disableRequestLogging: true }),
    ajv: { customOptions: ajvOptions },
    schemaController: { compilersFactory },
    bodyLimit: settings.bodyLimitBytes,
    routerOptions: { maxParamLength: 1024 },
    genReqId: requestIdOf,
    requestIdHeader: false,
    trustProxy: settings.trustedProxies.length === 0 ? false : settings.trustedProxies,
    // Longer than the idle time of the usual load balancers, which must be the ones to close.
    keepAliveTimeout: 72_000,
    // Bounds the time a client may take to send its request, not the time an answer takes.
    requestTimeout: 300_000,
    http: { maxHeaderSize: 64 * 1024 },
    return503OnClosing: false,
    // The store may wait half a minute for its database, and a migration may take longer.
    pluginTimeout: 0,
    frameworkErrors,
    clientErrorHandler
  })
  await app.register(requestId)
  await app.register(trace)
  await app.register(errors)
  await app.register(store, { url: settings.databaseUrl })
  await app.register(auth, { adminKey: settings.adminKey })
  await app.register(requestSummary)
  await app.register(openapi, { version: packageFile.version })
  await app.register(accessLog)
  await app.register(metrics)
  if (settings.tracesEndpoint !== null) await app.register(traces, { endpoint: settings.tracesEndpoint })
  await app.register(drain, { delayMs: settings.drainDelayMs, limitMs: settings.drainMs })
  await app.register(overload, settings.load)
  await app.register(health, { storeGraceMs: settings.storeGraceMs })
  await app.register(requestLog, settings.requestLog)
  await app.register(accounts)
  await app.register(firstKey, { startingCreditNano: settings.startingCreditNano })
  await app.register(ledger, { takeoverMs: config.video.takeoverAfterMs })
  await app.register(baseUrl, { publicBaseUrl: settings.publicBaseUrl })
  await app.register(media, settings.media)
  await app.register(providers, { trustedOrigins: settings.trustedOrigins })
  await app.register(models, { config })
  await app.register(deployments)
  await app.register(jsonBody)
  await app.register(limits)
  await app.register(delivery)
  await app.register(incoming)
  await app.register(routing)
  await app.register(requests)
  await app.register(chat, { cacheBytes: settings.cacheBytes })
  await app.register(images)
  const releaseMs = Math.min(settings.drainMs, longestReleaseMs)
  await app.register(videos, { releaseMs, ...(videoTiming !== undefined && { timing: videoTiming }) })
  await app.register(discovery, { local: settings.discover && settings.configPath === null })
  await app.register(healthRoutes)
  await app.register(metricsRoutes)
  await app.register(v1, { prefix: '/v1' })
  await app.register(mediaRoutes, { prefix: '/v1' })
  await app.register(admin, { prefix: '/admin' })
  await app.register(docs)
  return app
}

/** Starts the gateway as the environment describes it and keeps it running until SIGTERM or SIGINT. */
export async function start (env: NodeJS.ProcessEnv): Promise<FastifyInstance> {
  const settings = readSettings(env)
  const { configPath: path, alternative } = settings
  const load = () => loadConfig({ path, env })
  const config = await load()
  const app = await build({ settings, config, logger: await createLogger(settings.logLevel) })
  if (path !== null) await app.register(configuration, { path, running: config, load })
  if (alternative !== null) await app.register(secondAddress, alternative)
  if (settings.metricsAddress !== null) await app.register(metricsPort, settings.metricsAddress)
  closeOnSignal(app)
  const address = await listen(app, settings).catch(async error => {
    await app.close()
    throw error
  })
  process.stdout.write(welcome({ address, firstKey: app.firstKey, models: app.models.list() }))
  return app
}

/** Listens wherever it is to, and returns the first address. */
async function listen (app: FastifyInstance, { host, port }: Settings): Promise<string> {
  const address = await app.listen({ host, port })
  await app.listenOnSecondAddress?.()
  await app.listenForMetrics?.()
  return address
}

const exitGraceMs = 2000

/** The first signal lets requests finish; the second one does not. */
function closeOnSignal (app: FastifyInstance): void {
  let closing = false
  const onSignal = (signal: NodeJS.Signals): void => {
    if (closing) process.exit(1)
    closing = true
    app.log.info({ signal }, 'closing')
    // Nobody sends requests to who sits at a terminal.
    const end = signal === 'SIGTERM' ? app.leave() : app.close()
    end.then(() => {
      // Nothing is left that keeps the process alive. To exit by force would wait for log lines that are
      // being written, for ever when their reader is gone; so that is only for what nobody thought of.
      setTimeout(() => process.exit(0), exitGraceMs).unref()
    }, error => {
      app.log.error(error, 'closing failed')
      process.exitCode = 1
    })
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

if (import.meta.main) {
  start(process.env).catch(error => {
    process.stderr.write(`Tollgate cannot start: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  })
}
