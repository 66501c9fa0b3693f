import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fp from 'fastify-plugin'

interface MetricsPortOptions { host: string, port: number }

declare module 'fastify' {
  interface FastifyInstance {
    /** Begins to serve metrics at their own port, and returns that; there only when there is one. */
    listenForMetrics?: () => Promise<number>
  }
}

/** Serves `/metrics` without a key at a port of its own, which only the operator's network can reach. */
export default fp<MetricsPortOptions>(async (app, { host, port }) => {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    app.metrics.text().then(text => {
      response.writeHead(200, { 'content-type': app.metrics.contentType }).end(text)
    }, error => {
      app.log.error(error, 'the metrics could not be shown')
      response.writeHead(500).end()
    })
  })
  app.decorate('listenForMetrics', async () => {
    server.listen({ host, port })
    await once(server, 'listening')
    const { port: bound } = server.address() as AddressInfo
    app.log.info({ host, port: bound }, 'metrics are served')
    return bound
  })
  // Until the end, so that the end can be seen too.
  app.addHook('onClose', async () => {
    server.close()
    server.closeAllConnections()
  })
}, { name: 'metrics-port', dependencies: ['metrics'] })
