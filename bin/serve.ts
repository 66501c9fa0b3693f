import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { build } from '../fastify.config.ts'
import { loadConfig } from '../services/config/load.ts'
import { readSettings, type Settings } from '../services/config/settings/settings.ts'
import { hungOperations } from '../services/media/errors.ts'
import { welcome } from '../services/http/startup-banner.ts'
import { createLogger } from '../services/observability/logger.ts'

/** Starts the gateway that the environment describes; it runs until SIGTERM or SIGINT. */
export async function serve (env: NodeJS.ProcessEnv): Promise<void> {
  const settings = readSettings(env)
  const reload = () => loadConfig({ path: settings.configPath, env })
  const [config, logger] = [await reload(), await createLogger(settings.logLevel)]
  const app = await build({ settings, config, reload, logger })
  closeOnSignal(app)
  const address = await listen(app, settings).catch(async error => {
    await app.close()
    throw error
  })
  process.stdout.write(welcome({ address, firstKey: app.firstKey, models: app.models.list() }))
}

/** Listens on every address of the settings; returns the first. */
async function listen (app: FastifyInstance, { host, port }: Settings): Promise<string> {
  const address = await app.listen({ host, port })
  await app.listenOnSecondAddress?.()
  await app.listenForMetrics?.()
  return address
}

/** The first signal lets requests finish; the second one does not. */
function closeOnSignal (app: FastifyInstance): void {
  closeWithGrace({ delay: false, logger: app.log, skip: unhandled }, async ({ signal }) => {
    app.log.info({ signal }, 'closing')
    // A terminal session has no load balancer to drain, so close at once.
    await (signal === 'SIGINT' ? app.close() : app.leave())
    await endHungProcess(app)
  })
}

/** Node.js cannot exit while the system keeps a file operation waiting, as an absent network folder does. */
async function endHungProcess ({ log }: FastifyInstance): Promise<void> {
  if (hungOperations() > 0) await sleep(hungMs)
  if (hungOperations() === 0) return
  log.error({ operations: hungOperations() }, 'operations of the media store hang; the process is killed')
  await sleep(hungMs)
  process.kill(process.pid, 'SIGKILL')
}

const hungMs = 500

/** What ends the process as in any other program, and SIGHUP, which reloads the configuration. */
const unhandled = [
  'SIGHUP', 'SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGUSR2',
  'uncaughtException', 'unhandledRejection', 'beforeExit'
] satisfies closeWithGrace.AllEvents[]

if (import.meta.main) {
  serve(process.env).catch(error => {
    process.stderr.write(`Tollgate cannot start: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  })
}
