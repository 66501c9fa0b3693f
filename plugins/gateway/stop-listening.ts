import { once } from 'node:events'
import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fp from 'fastify-plugin'
import { watchFreshConnections } from '../../services/http/graceful-close/fresh-connections.ts'
import { stopListening } from '../../services/http/graceful-close/stop-listening.ts'

/** Interval at which idle connections are closed. */
const sweepMs = 50

/** Closes the listeners of a closing server without losing a connection. Registered last: its hook waits. */
export default fp(async app => {
  const hasFresh = watchFreshConnections(app.server)
  let sweep: NodeJS.Timeout | undefined
  async function close (listener: Server): Promise<void> {
    await stopListening(listener)
    const closed = once(listener, 'close')
    listener.close()
    await closed
  }
  app.addHook('preClose', async () => {
    sweep = setInterval(() => { if (!hasFresh()) app.server.closeIdleConnections() }, sweepMs)
    await Promise.all([
      ...app.listeners.filter(({ listening }) => listening).map(close),
      // Fastify then closes the server and its idle connections.
      ...(app.server.listening ? [stopListening(app.server)] : [])
    ])
    while (hasFresh()) await sleep(1)
  })
  app.addHook('onClose', async () => clearInterval(sweep))
}, { name: 'stop-listening', dependencies: ['leaving'] })
