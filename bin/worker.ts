import type { FastifyInstance } from 'fastify'
import { readSettings } from '../services/config/settings/settings.ts'
import { createLink } from '../services/operations/workers/link.ts'
import { createSiblings } from '../services/operations/workers/siblings.ts'
import type { Ready } from '../services/operations/workers/supervisor.ts'
import { closeGateway, portOf, startGateway } from './gateway.ts'

// One worker of a node: `worker.ts <port> <port of the second address>`, started by workers.ts.

let app: FastifyInstance | null = null
let isClosing = false

const parent = createLink(process, {
  handlers: {
    metrics: () => app?.metrics.snapshot() ?? [],
    counts: () => app?.load.counts ?? {}
  },
  notes: { leave }
})
// A signal to this process alone makes it finish its requests; signals to the node come from the parent, even
// if a terminal or a service manager sends them to every process.
process.on('SIGTERM', () => leave('SIGTERM'))
process.on('SIGINT', () => {})
process.on('disconnect', () => leave('disconnect'))
// The parent may have ended while this program was loading.
if (!process.connected) leave('disconnect')

/** Ends this worker once its requests have ended; at once if it has not started. */
function leave (signal: string): void {
  if (isClosing) return
  isClosing = true
  if (app === null) process.exit(0)
  const { log } = app
  closeGateway(app, signal).then(() => process.exit(0), err => {
    log.error({ err }, 'the worker could not close')
    process.exit(1)
  })
}

async function work (): Promise<void> {
  const [port = 0, secondPort = 0] = process.argv.slice(2).map(Number)
  const settings = readSettings(process.env)
  const alternative = settings.alternative === null ? null : { ...settings.alternative, port: secondPort }
  const own = { ...settings, port, alternative, metricsAddress: null }
  const { banner } = await startGateway(process.env, own, {
    siblings: createSiblings(parent),
    onBuilt: built => { app = built }
  }).catch(error => {
    process.stderr.write(`Tollgate cannot start: ${error instanceof Error ? error.message : error}\n`)
    process.exit(1)
  })
  if (app === null) return
  const [listener] = app.listeners
  const boundSecond = listener === undefined ? 0 : portOf(listener)
  const ready: Ready = { port: portOf(app.server), secondPort: boundSecond, banner }
  parent.notify('ready', ready)
}

await work()
