import fp from 'fastify-plugin'
import { createMetrics, type Metrics } from '../../services/observability/metrics/metrics.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What Prometheus is told; a plugin adds its own metrics when it is registered. */
    metrics: Metrics
  }
}

/** Counts requests. Registered before whatever has metrics of its own. */
export default fp(async app => {
  const metrics = createMetrics((err, name) => app.log.warn({ err, name }, 'a metric could not be read'))
  app.decorate('metrics', {
    ...metrics,
    text () {
      app.flushRequestEnds()
      return metrics.text()
    }
  })
  app.onRequestEnd(metrics.request)
}, { name: 'metrics', dependencies: ['request-summary'] })
