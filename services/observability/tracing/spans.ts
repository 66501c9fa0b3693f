import type { Attributes, SpanContext } from '@opentelemetry/api'
import type { RequestSummary, Operation } from '../../requests/request-summary.ts'

/** Videos share the route of chat; the conventions do not define a name for their output yet. */
const video: Operation = { name: 'generate_content', output: 'video' }

/** Attributes of the span of a request. Source: OpenTelemetry semantic conventions 1.37, HTTP server. */
export function requestAttributes ({ id, method, route, path, status, key }: RequestSummary): Attributes {
  return {
    'http.request.method': method,
    'http.route': route ?? '',
    'url.path': path,
    'http.response.status_code': status,
    'tollgate.request.id': id,
    ...(key !== null && { 'tollgate.key': key.id, 'tollgate.account': key.account })
  }
}

/**
 * Name and attributes of the span of a provider's work; null if none was called. Source: OpenTelemetry
 * semantic conventions 1.37, generative AI client.
 */
export function generation (
  { operation, startedMs, status, trace }: RequestSummary
): { name: string, attributes: Attributes } | null {
  const { model, provider, upstreamModel, report, attempts, images, job, costNano, firstByteAtMs } = trace
  const performed = job === null ? operation : video
  if (performed === null || (attempts === 0 && job === null)) return null
  const { name, output } = performed
  const usage = report?.usage
  const hasFailed = status >= 400 || trace.failure !== null
  return {
    name: `${name} ${upstreamModel ?? model ?? ''}`.trim(),
    attributes: {
      'gen_ai.operation.name': name,
      'gen_ai.provider.name': provider ?? '',
      'gen_ai.request.model': upstreamModel ?? '',
      ...(output !== null && { 'gen_ai.output.type': output }),
      ...(report?.model != null && { 'gen_ai.response.model': report.model }),
      ...(usage != null && {
        'gen_ai.usage.input_tokens': usage.prompt,
        'gen_ai.usage.output_tokens': usage.completion
      }),
      ...(hasFailed && { 'error.type': trace.failure === null ? String(status) : 'broken_off' }),
      ...(trace.code !== null && { 'tollgate.error.code': trace.code }),
      ...(trace.words !== null && { 'tollgate.provider.words': trace.words }),
      'tollgate.model': model ?? '',
      ...(job === null ? { 'tollgate.attempts': attempts } : { 'tollgate.job.id': job }),
      ...(images !== null && { 'tollgate.images': images }),
      ...(costNano !== null && { 'tollgate.cost_usd': costNano / 1e9 }),
      ...(firstByteAtMs !== null && { 'tollgate.first_byte_ms': Math.round(firstByteAtMs - startedMs) })
    }
  }
}

/** Name, attributes and time, on the clock of `performance.now()`, of an event for each failed call. */
export function failedCalls ({ trace: { calls } }: RequestSummary): [string, Attributes, number][] {
  return calls.filter(({ failure }) => failure !== null).map(call => {
    const { provider, model, status, failure, code, words, startedMs, endedMs } = call
    return ['tollgate.call.failed', {
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      'error.type': failure ?? '',
      ...(status !== null && { 'http.response.status_code': status }),
      ...(code !== null && { 'tollgate.error.code': code }),
      ...(words !== null && { 'tollgate.provider.words': words }),
      ...(endedMs !== null && { 'tollgate.call.ms': Math.round(endedMs - startedMs) })
    }, endedMs ?? startedMs]
  })
}

const pattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/

/** The caller's span from a W3C `traceparent`; null if that is malformed. */
export function callerOf (traceparent: string | null): SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] = pattern.exec(traceparent ?? '') ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: parseInt(flags, 16) & 1, isRemote: true }
}
