import fp from 'fastify-plugin'
import { ActiveSet } from '../../services/shared/timers.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import type { RequestAbort } from './exchange.ts'

interface GracefulCloseOptions {
  /** How long running requests may go on once the server is closing. */
  limitMs: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether this node is leaving or closing. */
    isDraining (): boolean
    /** Stops being ready. */
    drain (): void
    /** The running requests of use cases; aborted `limitMs` after the server began to close. */
    running: ActiveSet<RequestAbort>
  }
}

/** Lets a closing server finish the requests of the gateway; ends those with 503 that exceed the limit. */
export default fp<GracefulCloseOptions>(async (app, { limitMs }) => {
  let draining = false
  let timer: NodeJS.Timeout | undefined
  const running = new ActiveSet<RequestAbort>()
  app.decorate('running', running)
  app.decorate('isDraining', () => draining)
  app.decorate('drain', () => { draining = true })
  app.addHook('preClose', async () => {
    draining = true
    const abortRunning = (): void => {
      running.forEach(request => request.abort(GatewayError.shuttingDown()))
    }
    timer = setTimeout(abortRunning, limitMs)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}, { name: 'graceful-close' })
