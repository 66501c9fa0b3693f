import { createServer, type AddressInfo } from 'node:net'
import fp from 'fastify-plugin'

interface SecondAddressOptions { host: string, port: number, maxConnections: number }

/**
 * Listens on a second address too and hands its sockets to the same HTTP server, so that no limit, timeout or
 * handler can differ between the two.
 */
export default fp<SecondAddressOptions>(async (app, { host, port, maxConnections }) => {
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
    app.server.emit('connection', socket)
  })
  listener.maxConnections = maxConnections
  app.decorate('listenOnSecondAddress', ({ reusePort = false } = {}) => new Promise<void>((resolve, reject) => {
    listener.once('error', reject)
    listener.listen({ host, port, reusePort }, () => {
      listener.off('error', reject)
      app.log.info({ host, port: (listener.address() as AddressInfo).port }, 'a second address is served')
      resolve()
    })
  }))
  app.listeners.push(listener)
}, { name: 'second-address', dependencies: ['leaving'] })

declare module 'fastify' {
  interface FastifyInstance {
    /** Starts to listen on the second address; absent without one. */
    listenOnSecondAddress?: (options?: { reusePort?: boolean }) => Promise<void>
  }
}
