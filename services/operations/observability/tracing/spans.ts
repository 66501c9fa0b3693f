import type { Attributes, SpanContext } from '@opentelemetry/api'
import { knownProviders } from '../../../../schemas/config/known-providers.ts'
import type { RequestSummary, Operation } from '../../../requests/request-summary.ts'
import { outputOf, requestParameters } from './parameters.ts'

/** Videos share the route of chat; the conventions do not define a name for their output yet. */
const video: Operation = { name: 'generate_content', output: 'video' }

/** The reason of a failure, with few distinct values; undefined on success. */
function errorType ({ status, record }: RequestSummary, leastStatus: number): string | undefined {
  return record.failure !== null ? 'broken_off' : status >= leastStatus ? String(status) : undefined
}

/**
 * Attributes of the span of a request; `error.type` only if the server is at fault. Source: OpenTelemetry
 * semantic conventions 1.37, HTTP server.
 */
export function requestAttributes (finished: RequestSummary): Attributes {
  const { id, method, route, path, status, key } = finished
  return {
    'http.request.method': method,
    'http.route': route ?? '',
    'url.path': path,
    'http.response.status_code': status,
    'error.type': errorType(finished, 500),
    'tollgate.request.id': id,
    ...(key !== null && { 'tollgate.key': key.id, 'tollgate.account': key.account })
  }
}

const conventionalNames =
  new Map(knownProviders.map(({ id, conventionalName = id }) => [id, conventionalName]))

/** The name of a provider in the conventions, else its id. */
function nameOf (provider: string): string {
  return conventionalNames.get(provider) ?? provider
}

/**
 * Name and attributes of the span of a provider's work; null if none was called. `isLatest` adds those newer
 * than version 1.37. Source: OpenTelemetry semantic conventions 1.37 and 1.41, generative AI client.
 */
export function generation (
  finished: RequestSummary, isLatest: boolean
): { name: string, attributes: Attributes } | null {
  const { operation, startedMs, record, sent } = finished
  const { model, provider, upstreamModel, report, attempts, images, job, costNano, firstByteAtMs } = record
  const performed = job === null ? operation : video
  if (performed === null || (attempts === 0 && job === null)) return null
  const { name } = performed
  const output = performed.output ?? outputOf(sent)
  return {
    name: `${name} ${upstreamModel ?? model ?? ''}`.trim(),
    attributes: {
      'gen_ai.operation.name': name,
      'gen_ai.provider.name': nameOf(provider ?? ''),
      'gen_ai.request.model': upstreamModel ?? '',
      ...requestParameters(sent, record.maxTokens),
      ...(output !== null && { 'gen_ai.output.type': output }),
      ...(report !== null && responseAttributes(report)),
      ...(isLatest && latestAttributes(finished)),
      'error.type': errorType(finished, 400),
      ...(record.code !== null && { 'tollgate.error.code': record.code }),
      ...(record.words !== null && { 'tollgate.provider.words': record.words }),
      'tollgate.model': model ?? '',
      'tollgate.provider': provider ?? '',
      ...(job === null ? { 'tollgate.attempts': attempts } : { 'tollgate.job.id': job }),
      ...(images !== null && { 'tollgate.images': images }),
      // The name under which Langfuse and others read a cost; the conventions have none.
      ...(costNano !== null && { 'tollgate.cost_usd': costNano / 1e9, 'gen_ai.usage.cost': costNano / 1e9 }),
      ...(firstByteAtMs !== null && { 'tollgate.first_byte_ms': Math.round(firstByteAtMs - startedMs) })
    }
  }
}

type Report = NonNullable<RequestSummary['record']['report']>

function responseAttributes ({ model, id, finishReasons, usage }: Report): Attributes {
  const reasons = [...finishReasons].sort(([one], [other]) => one - other).map(([, reason]) => reason)
  return {
    ...(model !== null && { 'gen_ai.response.model': model }),
    ...(id !== null && { 'gen_ai.response.id': id }),
    ...(reasons.length > 0 && { 'gen_ai.response.finish_reasons': reasons }),
    ...(usage !== null && {
      'gen_ai.usage.input_tokens': usage.prompt,
      'gen_ai.usage.output_tokens': usage.completion
    })
  }
}

function latestAttributes ({ startedMs, record }: RequestSummary): Attributes {
  const { isStream, report, firstByteAtMs } = record
  const { cachedRead, cacheWrite, reasoning } = report?.usage ?? {}
  return {
    'gen_ai.usage.cache_read.input_tokens': cachedRead,
    'gen_ai.usage.cache_creation.input_tokens': cacheWrite,
    'gen_ai.usage.reasoning.output_tokens': reasoning,
    ...(isStream && {
      'gen_ai.request.stream': true,
      ...(firstByteAtMs !== null && {
        'gen_ai.response.time_to_first_chunk': (firstByteAtMs - startedMs) / 1000
      })
    })
  }
}

/** Name, attributes and time, on the clock of `performance.now()`, of an event for each failed call. */
export function failedCalls ({ record: { calls } }: RequestSummary): [string, Attributes, number][] {
  return calls.filter(({ failure }) => failure !== null).map(call => {
    const { provider, model, status, failure, code, words, startedMs, endedMs } = call
    return ['tollgate.call.failed', {
      'gen_ai.provider.name': nameOf(provider),
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
