import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fp from 'fastify-plugin'
import { ActiveSet } from '../../services/shared/timers.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import type { RequestAbort } from './exchange.ts'

interface GracefulCloseOptions {
  /** How long requests are still accepted after `leave`. */
  delayMs: number
  /** How long running requests may go on once the server is closing. */
  limitMs: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether this node is leaving or closing. */
    isDraining (): boolean
    /**
     * Stops being ready at once, accepts requests for `delayMs` so that load balancers notice, then closes.
     */
    leave (): Promise<void>
    /** The running requests of use cases; aborted `limitMs` after the server began to close. */
    running: ActiveSet<RequestAbort>
    /** Further listeners, which hand their sockets to the server and close with it. */
    listeners: Server[]
  }
}

/** Time for clients to read the error event after the limit, before their sockets are destroyed. */
const graceMs = 1000

/**
 * Lets a closing server finish its requests, up to a limit.
 *
 *   serving ──`leave`──► draining ──delayMs──► closing ──limitMs──► aborting ──graceMs──► closed
 *      └─────────────app.close()──────────────────▲ └──last request ends──────────────────────▲
 *
 * While draining, the node is not ready, but serves the requests that still arrive, because a proxy may not
 * have noticed; their responses close the connection. While closing, it accepts no connections. Aborting ends
 * the running requests with 503, and then destroys the remaining sockets.
 */
export default fp<GracefulCloseOptions>(async (app, { delayMs, limitMs }) => {
  let draining = false
  let timers: NodeJS.Timeout[] = []
  const running = new ActiveSet<RequestAbort>()
  function drain (): void {
    if (draining) return
    draining = true
    // Node.js then responds with `connection: close`.
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
      running.forEach(request => request.abort(GatewayError.shuttingDown()))
    }
    timers = [
      setTimeout(abortRunning, limitMs),
      setTimeout(() => app.server.closeAllConnections(), limitMs + graceMs)
    ]
  })
  app.addHook('onClose', async () => timers.forEach(clearTimeout))
}, { name: 'graceful-close' })
