import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { readSettings, type Settings } from '../services/config/settings/settings.ts'
import { withPortAdvice } from '../services/http/startup-banner.ts'

/** Serves as the environment describes; prints why if it cannot. Workers run the file `workerProgram`. */
export async function main (workerProgram?: string): Promise<void> {
  await serve(process.env, workerProgram).catch(error => {
    process.stderr.write(`Tollgate cannot start: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  })
}

/** Starts the gateway that the environment describes; it runs until SIGTERM or SIGINT. */
export async function serve (env: NodeJS.ProcessEnv, workerProgram?: string): Promise<void> {
  const settings = readSettings(env)
  try {
    if (settings.workers === 1) return await serveAlone(env, settings)
    const { serveByWorkers } = await import('./workers.ts')
    await serveByWorkers(env, settings, workerProgram)
  } catch (error) {
    throw withPortAdvice(error, env)
  }
}

async function serveAlone (env: NodeJS.ProcessEnv, settings: Settings): Promise<void> {
  // The process that starts workers does without it.
  const { closeGateway, startGateway } = await import('./gateway.ts')
  /** The first signal lets requests finish; the second one does not. */
  const closeOnSignal = (app: FastifyInstance): void => {
    const options = { delay: false, logger: app.log, skip: unhandled } as const
    closeWithGrace(options, ({ signal }) => closeGateway(app, signal))
  }
  const { banner } = await startGateway(env, settings, { onBuilt: closeOnSignal })
  process.stdout.write(banner)
}

/** The usual termination signals, and SIGHUP, which reloads the configuration. */
const unhandled = [
  'SIGHUP', 'SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGUSR2',
  'uncaughtException', 'unhandledRejection', 'beforeExit'
] satisfies closeWithGrace.AllEvents[]

if (import.meta.main) await main()
