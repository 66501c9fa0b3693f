import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace as api } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { RequestSummary } from '../../requests/request-summary.ts'
import { callerOf, failedCalls, generation, requestAttributes } from './spans.ts'

/** Sends a trace of each request to a collector. */
export interface Tracing {
  /** Adds the spans of a request to the next batch. */
  request (finished: RequestSummary): void
  /** Sends all pending spans. */
  close (): Promise<void>
}

interface TracingOptions {
  /** Base address of an OTLP receiver over HTTP, e.g. `http://localhost:4318`. */
  endpoint: string
  serviceName?: string
}

/**
 * Creates tracing by OpenTelemetry: a span for each request, with a child span for the provider's work. Spans
 * are created when the request has ended, so nothing is carried along with it. This module and OpenTelemetry
 * are loaded only if tracing is on.
 */
export function createTracing ({ endpoint, serviceName = 'tollgate' }: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` })
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    // Bounded: spans are dropped while no collector answers.
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 4096, scheduledDelayMillis: 1000 })]
  })
  const tracer = provider.getTracer('tollgate')

  return {
    request (finished) {
      const { method, route, status, traceparent, trace, startedMs, endedMs } = finished
      if (route === null) return
      const caller = callerOf(traceparent)
      const around = caller === null ? ROOT_CONTEXT : api.setSpanContext(ROOT_CONTEXT, caller)
      const startTime = wallMs(startedMs)
      const span = tracer.startSpan(`${method} ${route}`,
        { kind: SpanKind.SERVER, startTime, attributes: requestAttributes(finished) }, around)
      const work = generation(finished)
      const message = trace.words === null ? {} : { message: trace.words }
      const hasFailed = status >= 500 || trace.failure !== null
      if (work !== null) {
        const { name, attributes } = work
        const within = api.setSpan(around, span)
        const child = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, within)
        for (const [name, attributes, atMs] of failedCalls(finished)) {
          child.addEvent(name, attributes, wallMs(atMs))
        }
        if (hasFailed) child.setStatus({ code: SpanStatusCode.ERROR, ...message })
        child.end(wallMs(endedMs))
      }
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR, ...message })
      span.end(wallMs(endedMs))
    },
    close: () => provider.shutdown()
  }
}

/** Milliseconds since 1970 of a time of `performance.now()`. */
function wallMs (ms: number): number {
  return performance.timeOrigin + ms
}
