import fp from 'fastify-plugin'
import { createMetricsServer } from '../../services/observability/metrics/server.ts'

interface MetricsPortOptions { host: string, port: number }

declare module 'fastify' {
  interface FastifyInstance {
    /** Begins to serve metrics at their own port, and returns that; there only when there is one. */
    listenForMetrics?: () => Promise<number>
  }
}

/** Serves `/metrics` without a key at a port of its own, which only the operator's network can reach. */
export default fp<MetricsPortOptions>(async (app, address) => {
  const server = createMetricsServer(() => app.metrics.text(), app.log)
  app.decorate('listenForMetrics', () => server.listen(address))
  // Until the end, so that the end can be seen too.
  app.addHook('onClose', async () => server.close())
}, { name: 'metrics-port', dependencies: ['metrics'] })
