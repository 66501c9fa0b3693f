import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace as api, type Span } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { RequestSummary } from '../../../requests/request-summary.ts'
import { createResource } from './resource.ts'
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
  headers: Record<string, string>
  version: string
  serviceName: string | null
  /** The unparsed `OTEL_RESOURCE_ATTRIBUTES`, or null. */
  resourceAttributes: string | null
  /** Whether to send GenAI attributes newer than version 1.37 of the conventions too. */
  isLatest: boolean
}

/** The conventions of each version of the GenAI attributes. */
const schemas = { pinned: 'https://opentelemetry.io/schemas/1.37.0', latest: 'https://opentelemetry.io/schemas/1.41.0' }

/**
 * Creates tracing by OpenTelemetry: a span for each request, with a child span for the provider's work. Spans
 * are created when the request has ended, so the request carries no context. This module and OpenTelemetry
 * are loaded only if tracing is on. `onError` receives problems of the resource attributes.
 */
export function createTracing (options: TracingOptions, onError: (problem: string) => void): Tracing {
  const { endpoint, headers, version, serviceName, resourceAttributes: attributes, isLatest } = options
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces`, headers })
  const provider = new BasicTracerProvider({
    resource: createResource({ version, serviceName, attributes }, onError),
    // Bounded: spans are dropped while no collector responds.
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize: 4096, scheduledDelayMillis: 1000 })]
  })
  const schemaUrl = isLatest ? schemas.latest : schemas.pinned
  const tracer = provider.getTracer('tollgate', version, { schemaUrl })

  return {
    request (finished) {
      const { method, route, traceparent, startedMs } = finished
      if (route === null) return
      const caller = callerOf(traceparent)
      const around = caller === null ? ROOT_CONTEXT : api.setSpanContext(ROOT_CONTEXT, caller)
      const startTime = wallMs(startedMs)
      const own = requestAttributes(finished)
      const span = tracer.startSpan(`${method} ${route}`,
        { kind: SpanKind.SERVER, startTime, attributes: own }, around)
      const work = generation(finished, isLatest)
      if (work !== null) {
        const { name, attributes } = work
        const within = api.setSpan(around, span)
        const child = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime, attributes }, within)
        for (const [name, attributes, atMs] of failedCalls(finished)) {
          child.addEvent(name, attributes, wallMs(atMs))
        }
        end(child, attributes['error.type'] !== undefined, finished)
      }
      end(span, own['error.type'] !== undefined, finished)
    },
    close: () => provider.shutdown()
  }

  /** Ends a span; after a failure, its status description is the provider's message. */
  function end (span: Span, hasFailed: boolean, { record, endedMs }: RequestSummary): void {
    const message = record.words === null ? {} : { message: record.words }
    if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR, ...message })
    span.end(wallMs(endedMs))
  }
}

/** Milliseconds since 1970 of a time of `performance.now()`. */
function wallMs (ms: number): number {
  return performance.timeOrigin + ms
}
