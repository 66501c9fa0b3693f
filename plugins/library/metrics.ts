import fp from 'fastify-plugin'
import type { MetricsLabels } from '../../services/config/settings/settings.ts'
import { createMetrics, type Metrics } from '../../services/operations/observability/metrics/metrics.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Metrics for Prometheus; each plugin registers its own. */
    metrics: Metrics
  }
}

interface MetricsOptions extends Partial<MetricsLabels> {
  /** Sums the metrics of this process and others, as text; by default only of this process. */
  nodeMetrics?: (() => Promise<string>) | undefined
}

/** Counts requests, and provides `app.metrics` for the plugins registered after it. */
export default fp<MetricsOptions>(async (app, { accounts = 0, keys = 0, nodeMetrics }) => {
  const onError = (err: unknown, name: string) => app.log.warn({ err, name }, 'a metric could not be read')
  const metrics = createMetrics(onError, { accounts, keys })
  app.decorate('metrics', { ...metrics, text: nodeMetrics ?? metrics.text })
  app.onRequestEnd(metrics.request)
}, { name: 'metrics', dependencies: ['request-summary'] })
