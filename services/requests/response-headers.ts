import { headerText } from '../shared/header-text.ts'
import type { Trace } from './trace.ts'

/**
 * The headers that say what was decided: the public id of the model that ran, its provider, its name there,
 * the number of upstream calls, the route of `auto`, and the names of parameters that were dropped.
 */
export function headersOf (trace: Trace, dropped: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {
    'x-tollgate-model': headerText(trace.model ?? ''),
    'x-tollgate-provider': headerText(trace.provider ?? ''),
    'x-tollgate-upstream-model': headerText(trace.upstreamModel ?? ''),
    'x-tollgate-attempts': String(trace.attempts)
  }
  if (trace.route !== null) headers['x-tollgate-route'] = trace.route
  const names = namesOf(dropped)
  if (names.length > 0) headers['x-tollgate-dropped-params'] = names.join(', ')
  return headers
}

const maxNames = 32

/** Names of parameters as a header may carry them; a client can send any text as one. */
function namesOf (dropped: readonly string[]): string[] {
  if (dropped.length === 0) return []
  return [...new Set(dropped)].filter(name => /^[\w.-]{1,64}$/.test(name)).slice(0, maxNames)
}
