import fp from 'fastify-plugin'

interface MetricsPortOptions { host: string, port: number }

declare module 'fastify' {
  interface FastifyInstance {
    /** Starts to serve metrics at the metrics port and returns it; absent without one. */
    listenForMetrics?: () => Promise<number>
  }
}

/** Serves `/metrics` without a key at a separate port, which only the operator's network can reach. */
export default fp<MetricsPortOptions>(async (app, address) => {
  // Loaded on demand: an `import` of node:http makes Node.js load its bundled undici, 6 % of a start.
  const { createMetricsServer } = await import('../../services/operations/observability/metrics/server.ts')
  const server = createMetricsServer(() => app.metrics.text(), app.log)
  app.decorate('listenForMetrics', () => server.listen(address))
  // Serves until the end, so that metrics show the shutdown.
  app.addHook('onClose', async () => server.close())
}, { name: 'metrics-port', dependencies: ['metrics'] })
