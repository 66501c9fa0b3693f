import fp from 'fastify-plugin'
import { GatewayError } from '../services/errors.ts'

interface DrainOptions {
  /** How long requests under way may go on once the server is closing. */
  limitMs: number
}

/** How often connections that have become idle are closed while draining. */
const sweepMs = 50
/** How long clients have to read the error event after the limit before their sockets are destroyed. */
const graceMs = 1000

/**
 * Lets a closing server finish what it is doing: running requests go on up to a limit, further ones get a
 * 503.
 */
export default fp<DrainOptions>(async (app, { limitMs }) => {
  let draining = false
  let timers: NodeJS.Timeout[] = []

  app.addHook('onRequest', (_request, reply, done) => {
    if (!draining) return done()
    reply.header('connection', 'close')
    done(GatewayError.unavailable('The gateway is shutting down.', { code: 'shutting_down' }))
  })
  app.addHook('preClose', async () => {
    draining = true
    timers = [
      setInterval(() => app.server.closeIdleConnections(), sweepMs),
      setTimeout(() => app.abortRequests(), limitMs),
      setTimeout(() => app.server.closeAllConnections(), limitMs + graceMs)
    ]
  })
  app.addHook('onClose', async () => timers.forEach(clearTimeout))
}, { name: 'drain', dependencies: ['chat'] })
