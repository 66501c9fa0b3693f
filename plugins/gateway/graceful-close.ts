import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fp from 'fastify-plugin'
import { ActiveSet } from '../../services/shared/timers.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import type { RequestAbort } from './exchange.ts'

interface GracefulCloseOptions {
  /** How long requests are still taken after `leave`. */
  delayMs: number
  /** How long requests under way may go on once the server is closing. */
  limitMs: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether this node is about to end. */
    isDraining (): boolean
    /** For load balancers: is no longer ready at once, takes requests for a while, then closes. */
    leave (): Promise<void>
    /** The requests that use cases are answering; aborted when a closing server has waited long enough. */
    running: ActiveSet<RequestAbort>
    /** Listeners besides the server's own, which hand it their sockets; closed with it. */
    listeners: Server[]
  }
}

/** How long clients have to read the error event after the limit before their sockets are destroyed. */
const graceMs = 1000

/**
 * Lets a closing server finish its requests, up to a limit. Requests that still come on open connections are
 * answered, because a proxy cannot know, but their answers close the connection.
 */
export default fp<GracefulCloseOptions>(async (app, { delayMs, limitMs }) => {
  let draining = false
  let timers: NodeJS.Timeout[] = []
  const running = new ActiveSet<RequestAbort>()
  function drain (): void {
    if (draining) return
    draining = true
    // Node.js then answers with `connection: close`.
    app.server.prependListener('request', (_request, response) => { response.shouldKeepAlive = false })
  }
  app.decorate('running', running)
  app.decorate('listeners', [])
  app.decorate('isDraining', () => draining)
  app.decorate('leave', async () => {
    drain()
    if (delayMs > 0) await sleep(delayMs)
    await app.close()
  })
  app.addHook('preClose', async () => {
    drain()
    const abortRunning = (): void => {
      running.forEach(request => request.abort(GatewayError.unavailable('The gateway is shutting down.')))
    }
    timers = [
      setTimeout(abortRunning, limitMs),
      setTimeout(() => app.server.closeAllConnections(), limitMs + graceMs)
    ]
  })
  app.addHook('onClose', async () => timers.forEach(clearTimeout))
}, { name: 'graceful-close' })
