import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Registry } from 'prom-client'
import type { Settings } from '../services/config/settings/settings.ts'
import { createLogger } from '../services/operations/observability/logger.ts'
import { createMetricsServer } from '../services/operations/observability/metrics/server.ts'
import { createMetricsSum } from '../services/operations/observability/metrics/sum.ts'
import { showSupervisor } from '../services/operations/workers/metrics.ts'
import { createSupervisor, type Supervisor } from '../services/operations/workers/supervisor.ts'
import { heapOptions } from '../services/operations/workers/worker-memory.ts'

const ownProgram = fileURLToPath(new URL('./worker.ts', import.meta.url))
const compileCache = new URL('./compile-cache.js', import.meta.url).href

/**
 * Serves requests by several worker processes, until SIGTERM or SIGINT; this process serves their metrics.
 */
export async function serveByWorkers (
  env: NodeJS.ProcessEnv, settings: Settings, program = ownProgram
): Promise<void> {
  const { workers: count, host, port, alternative, logLevel, metricsAddress } = settings
  const log = await createLogger(logLevel, { sharesOutput: true })
  await assertFree(host, port)
  if (alternative !== null) await assertFree(alternative.host, alternative.port)
  const own = new Registry()
  const supervisor = createSupervisor({
    count,
    ports: { port, secondPort: alternative?.port ?? 0 },
    start: ({ port, secondPort }) => fork(program, [String(port), String(secondPort)], {
      env, execArgv: [...process.execArgv, '--import', compileCache, ...heapOptions(count)]
    }),
    log,
    metrics: createMetricsSum(own)
  })
  showSupervisor(own, supervisor)
  obeySignals(supervisor, settings)
  const metrics = metricsAddress === null ? null : createMetricsServer(() => supervisor.metricsText(), log)
  if (metrics !== null && metricsAddress !== null) await metrics.listen(metricsAddress)
  const ready = await supervisor.start()
  if (ready !== null) process.stdout.write(ready.banner)
  process.exitCode = await supervisor.ended
  metrics?.close()
}

/**
 * The system shares the port with every process of this user that requests it, so it would not report another
 * gateway on it. Throws the system's error if the port is taken.
 */
async function assertFree (host: string, port: number): Promise<void> {
  if (port === 0) return
  const server = createServer()
  server.listen({ host, port })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

/** The first signal lets requests finish; the second one does not. */
function obeySignals (supervisor: Supervisor, { configPath }: Settings): void {
  let isLeaving = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (!isLeaving) {
        isLeaving = true
        return supervisor.leave(signal)
      }
      supervisor.kill()
      process.exit(1)
    })
  }
  if (configPath !== null) process.on('SIGHUP', () => supervisor.signal('SIGHUP'))
}
