import fp from 'fastify-plugin'
import type { TracesSettings } from '../../services/config/settings/settings.ts'

/** Sends a trace of each request to a collector; registered only if one is configured. */
export default fp<TracesSettings & { version: string }>(async (app, settings) => {
  // OpenTelemetry takes longer to load than the rest of the gateway.
  const { createTracing } = await import('../../services/operations/observability/tracing/tracing.ts')
  const tracing = createTracing(settings, problem => app.log.warn(`OTEL_RESOURCE_ATTRIBUTES is ignored: ${problem}`))
  app.onRequestEnd(tracing.request)
  app.addHook('onClose', async () => {
    await tracing.close().catch(err => app.log.warn({ err }, 'the last traces could not be sent'))
  })
}, { name: 'traces', dependencies: ['request-summary'] })
