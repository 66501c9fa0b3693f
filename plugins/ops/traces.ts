import fp from 'fastify-plugin'

/** Sends a trace of each request to a collector; registered only if one is configured. */
export default fp<{ endpoint: string }>(async (app, { endpoint }) => {
  // OpenTelemetry takes longer to load than the rest of the gateway.
  const { createTracing } = await import('../../services/observability/tracing/tracing.ts')
  const tracing = createTracing({ endpoint })
  app.onRequestEnd(tracing.request)
  app.addHook('onClose', async () => {
    app.flushRequestEnds()
    await tracing.close().catch(err => app.log.warn({ err }, 'the last traces could not be sent'))
  })
}, { name: 'traces', dependencies: ['request-summary'] })
