import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fp from 'fastify-plugin'
import { spareFreshConnections } from '../../services/http/graceful-close/fresh-connections.ts'
import { untilNobodyWaits } from '../../services/http/graceful-close/narrow-listener.ts'
import { GatewayError } from '../../services/shared/errors.ts'

interface DrainOptions {
  /** How long requests are still taken after `leave`. */
  delayMs: number
  /** How long requests under way may go on once the server is closing. */
  limitMs: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether this node is about to end. */
    isDraining (): boolean
    /**
     * Ends the server as a load balancer likes it: says at once that it is not ready, goes on taking requests
     * for a while, then closes.
     */
    leave (): Promise<void>
    /** Has a listener whose sockets the server takes closed with it, and as carefully. */
    closeAlong (listener: Server): void
    /** The requests that use cases are answering; aborted when a closing server has waited long enough. */
    running: Set<AbortController>
  }
}

/** How often connections that have become idle are closed while draining. */
const sweepMs = 50
/** How long clients have to read the error event after the limit before their sockets are destroyed. */
const graceMs = 1000

/**
 * Lets a closing server finish what it is doing. Requests go on up to a limit; so do those that still come on
 * connections that are open already, since a proxy cannot know, but their answers close the connection.
 */
export default fp<DrainOptions>(async (app, { delayMs, limitMs }) => {
  let draining = false
  let timers: NodeJS.Timeout[] = []
  const alongside: Server[] = []
  spareFreshConnections(app.server)

  const running = new Set<AbortController>()
  app.decorate('running', running)
  const abortRunning = (): void => {
    for (const request of running) request.abort(GatewayError.unavailable('The gateway is shutting down.'))
  }
  app.decorate('isDraining', () => draining)
  app.decorate('leave', async () => {
    draining = true
    if (delayMs > 0) await sleep(delayMs)
    await app.close()
  })
  app.decorate('closeAlong', listener => { alongside.push(listener) })
  app.addHook('onRequest', (_request, reply, done) => {
    if (draining) reply.header('connection', 'close')
    done()
  })
  app.addHook('preClose', async () => {
    draining = true
    timers = [
      setInterval(() => app.server.closeIdleConnections(), sweepMs),
      setTimeout(abortRunning, limitMs),
      setTimeout(() => app.server.closeAllConnections(), limitMs + graceMs)
    ]
    for (const listener of alongside) {
      if (!listener.listening) continue
      await untilNobodyWaits(listener, limitMs)
      listener.close()
    }
    // The last, because Fastify closes the server's own listener right after.
    if (app.server.listening) await untilNobodyWaits(app.server, limitMs)
  })
  app.addHook('onClose', async () => timers.forEach(clearTimeout))
}, { name: 'graceful-close' })
