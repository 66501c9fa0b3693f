import type { Trace } from './trace.ts'

/**
 * What was decided, for the client to see: the public id of the model that ran, the provider, the model's
 * name there, and how often a provider was called.
 */
export function headersOf (trace: Trace, dropped: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {
    'x-tollgate-model': headerText(trace.model),
    'x-tollgate-provider': headerText(trace.provider),
    'x-tollgate-upstream-model': headerText(trace.upstreamModel),
    'x-tollgate-attempts': String(trace.attempts)
  }
  if (trace.route !== null) headers['x-tollgate-route'] = trace.route
  if (dropped.length > 0) headers['x-tollgate-dropped-params'] = dropped.join(', ')
  return headers
}

/** Model names may be any text; a header may not. */
function headerText (value: string | null): string {
  if (value === null) return ''
  // A loop takes a tenth of what a pattern does, and next to all names are plain.
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at)
    if (code < 0x20 || code > 0x7e) return value.toWellFormed().replace(/[^\x20-\x7e]+/g, encodeURIComponent)
  }
  return value
}
