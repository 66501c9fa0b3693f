import fp from 'fastify-plugin'
import { createMetrics, type Metrics } from '../../services/observability/metrics/metrics.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Metrics for Prometheus; each plugin registers its own. */
    metrics: Metrics
  }
}

/** Counts requests, and offers `app.metrics` to the plugins registered after it. */
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
