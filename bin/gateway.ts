import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { AddressInfo, Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { build } from '../fastify.config.ts'
import { loadConfig } from '../services/config/load.ts'
import { openConfig } from '../services/extensions/open-config.ts'
import { refusedLength } from '../services/providers/video-length.ts'
import type { Settings } from '../services/config/settings/settings.ts'
import { bootstrap } from '../services/keys/bootstrap.ts'
import { hungOperations } from '../services/media/errors.ts'
import { welcome } from '../services/http/startup-banner.ts'
import { configWarnings } from '../services/operations/observability/config-warnings.ts'
import { createLogger } from '../services/operations/observability/logger.ts'
import type { Siblings } from '../services/operations/workers/siblings.ts'

interface Started {
  app: FastifyInstance
  /** The message for the person who started the gateway. */
  banner: string
}

interface StartOptions {
  /** The other workers, if this is one. */
  siblings?: Siblings
  /** Called before the gateway listens, e.g. to close it on a signal. */
  onBuilt (app: FastifyInstance): void
}

/** Starts a gateway in this process, and listens on every address of the settings. */
export async function startGateway (
  env: NodeJS.ProcessEnv, settings: Settings, { siblings, onBuilt }: StartOptions
): Promise<Started> {
  const isWorker = siblings !== undefined
  const { configPath } = settings
  const load = () => loadConfig({ path: configPath, env, refusedLength })
  const opened = await openConfig(load, configPath ?? 'environment')
  const logger = await createLogger(settings.logLevel, { sharesOutput: isWorker })
  const app = await build({ settings, ...opened, logger, siblings })
  onBuilt(app)
  try {
    const address = await listen(app, settings, isWorker)
    const { store, keys, accounts } = app
    const first = await bootstrap({ store, keys, accounts, startingCreditNano: settings.startingCreditNano })
    inlineMore()
    const hasConsole = app.models.config().console.enabled
    const firstKey = first?.key ?? null
    const [models, unpriced] = [app.models.list(), app.models.unpriced()]
    const warnings = configWarnings(opened.config, app.models.resolve)
    return { app, banner: welcome({ address, firstKey, models, hasConsole, unpriced, warnings }) }
  } catch (error) {
    await app.close()
    throw error
  }
}

/**
 * Lets V8 inline more of the small functions that serve a request; docs/performance.md has the figures.
 * On the command line this would make Node's own cached code invalid.
 */
function inlineMore (): void {
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=4000')
}

/** Returns the first address, e.g. `http://127.0.0.1:8080`. */
async function listen (app: FastifyInstance, { host, port }: Settings, reusePort: boolean): Promise<string> {
  // Fastify passes on options of Node.js that its types lack.
  const options = { host, port, reusePort }
  const address = await app.listen(options)
  await app.listenOnSecondAddress?.({ reusePort })
  await app.listenForMetrics?.()
  return address
}

/** The port that a server listens on. */
export function portOf (server: Server): number {
  return (server.address() as AddressInfo).port
}

/** Closes the gateway: `leave` for load balancers, or at once. Kills the process if it cannot end. */
export async function closeGateway (app: FastifyInstance, signal: string | undefined): Promise<void> {
  app.log.info({ signal }, 'closing')
  // A terminal session has no load balancer to drain, so close at once.
  await (signal === 'SIGINT' ? app.close() : app.leave())
  await endHungProcess(app)
}

/** Node.js cannot exit while a file operation hangs, for example on a disconnected network folder. */
async function endHungProcess ({ log }: FastifyInstance): Promise<void> {
  if (hungOperations() > 0) await sleep(hungMs)
  if (hungOperations() === 0) return
  log.error({ operations: hungOperations() }, 'operations of the media store hang; the process is killed')
  await sleep(hungMs)
  process.kill(process.pid, 'SIGKILL')
}

const hungMs = 500
