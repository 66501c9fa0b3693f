import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fp from 'fastify-plugin'

interface LeavingOptions {
  /** How long requests are still accepted after `leave`. */
  delayMs: number
  /** How long running requests may go on once the server is closing. */
  limitMs: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Stops being ready at once, accepts requests for `delayMs` so that load balancers notice, then closes.
     */
    leave (): Promise<void>
    /** Further listeners, which hand their sockets to the server and close with it. */
    listeners: Server[]
  }
}

/** Time for clients to read the error event after the limit, before their sockets are destroyed. */
const graceMs = 1000

/**
 * Lets a node leave its load balancers, and closes its connections.
 *
 *   serving ──`leave`──► draining ──delayMs──► closing ──limitMs──► aborting ──graceMs──► closed
 *      └─────────────app.close()──────────────────▲ └──last request ends──────────────────────▲
 *
 * While draining, the node is not ready, but serves the requests that still arrive, because a proxy may not
 * have noticed; their responses close the connection. While closing, it accepts no connections. Aborting ends
 * the running requests with 503, and then destroys the remaining sockets.
 */
export default fp<LeavingOptions>(async (app, { delayMs, limitMs }) => {
  let timer: NodeJS.Timeout | undefined
  // Node.js then responds with `connection: close`.
  const endKeepAlive = (): void => {
    app.server.prependListener('request', (_request, response) => { response.shouldKeepAlive = false })
  }
  app.decorate('listeners', [])
  app.decorate('leave', async () => {
    app.drain()
    endKeepAlive()
    if (delayMs > 0) await sleep(delayMs)
    await app.close()
  })
  app.addHook('preClose', async () => {
    endKeepAlive()
    timer = setTimeout(() => app.server.closeAllConnections(), limitMs + graceMs)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}, { name: 'leaving', dependencies: ['graceful-close'] })
