import fp from 'fastify-plugin'

interface MetricsPortOptions { host: string, port: number }

declare module 'fastify' {
  interface FastifyInstance {
    /** Begins to serve metrics at their own port, and returns that; there only when there is one. */
    listenForMetrics?: () => Promise<number>
  }
}

/** Serves `/metrics` without a key at a port of its own, which only the operator's network can reach. */
export default fp<MetricsPortOptions>(async (app, address) => {
  // Loaded on demand: an `import` of node:http makes Node.js load an undici of its own, 6 % of a start.
  const { createMetricsServer } = await import('../../services/operations/observability/metrics/server.ts')
  const server = createMetricsServer(() => app.metrics.text(), app.log)
  app.decorate('listenForMetrics', () => server.listen(address))
  // Until the end, so that the end can be seen too.
  app.addHook('onClose', async () => server.close())
}, { name: 'metrics-port', dependencies: ['metrics'] })
