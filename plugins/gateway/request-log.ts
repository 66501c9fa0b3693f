import fp from 'fastify-plugin'
import { createRequestLog } from '../../services/operations/observability/request-log/request-log.ts'

interface RequestLogPluginOptions {
  /** The share of requests to record; 0 turns the log off. */
  sample: number
  keepMs: number
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Writes all pending rows of the request log. */
    flushRequestLog (): Promise<void>
  }
}

/** Records each request of a key in the store. */
export default fp<RequestLogPluginOptions>(async (app, { sample, keepMs }) => {
  if (sample === 0) {
    app.decorate('flushRequestLog', async () => {})
    return
  }
  const log = createRequestLog({
    store: app.store, sample, keepMs, onError: err => app.log.warn({ err }, 'the request log could not be written')
  })
  app.decorate('flushRequestLog', log.flush)
  app.onRequestEnd(log.add)
  app.metrics.counter({ name: 'request_log_lost_total', help: 'Requests that were not recorded in the request log.' },
    () => log.lostCount)
  app.addHook('onClose', async () => { await log.close() })
}, { name: 'request-log', dependencies: ['store', 'request-summary', 'metrics'] })
