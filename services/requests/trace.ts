import type { Candidate } from './candidates.ts'
import type { StreamReport } from '../providers/report.ts'

/** What came of one request: written by the use case, read by logs and metrics. No prompt and no key. */
export interface Trace {
  /** The model id the client asked for. */
  asked: string | null
  /** The public id of the model that ran, the provider it ran at, and its name there. */
  model: string | null
  provider: string | null
  upstreamModel: string | null
  /** The value of `x-tollgate-route`; null if the client named the model. */
  route: string | null
  /** Upstream calls. */
  attempts: number
  report: StreamReport | null
  /** The output limit that the gateway has set, in tokens per answer; null if it set none. */
  maxTokens: number | null
  images: number | null
  job: string | null
  /** When the first byte was sent, on the clock of `performance.now()`. */
  firstByteAtMs: number | null
  /** The charge in nano-USD; null while it is not known. */
  costNano: number | null
  /** A failure after the status had been sent. */
  failure: Error | null
}

/** Sets the candidate that answered, or the first one if none did. */
export function setCandidate (trace: Trace, candidate: Candidate | undefined): void {
  trace.model = candidate?.model.id ?? null
  trace.provider = candidate?.provider.id ?? null
  trace.upstreamModel = candidate?.deployment.model ?? null
}

export function createTrace (): Trace {
  return {
    asked: null,
    model: null,
    provider: null,
    upstreamModel: null,
    route: null,
    attempts: 0,
    report: null,
    maxTokens: null,
    images: null,
    job: null,
    firstByteAtMs: null,
    costNano: null,
    failure: null
  }
}

const maxNames = 32

/**
 * The headers that say what was decided: the public id of the model that ran, its provider, its name there,
 * the number of upstream calls, the route of `auto`, the output limit that the gateway has set, and the names
 * of parameters that were dropped.
 */
export function headersOf (trace: Trace, dropped: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {
    'x-tollgate-model': headerText(trace.model ?? ''),
    'x-tollgate-provider': headerText(trace.provider ?? ''),
    'x-tollgate-upstream-model': headerText(trace.upstreamModel ?? ''),
    'x-tollgate-attempts': String(trace.attempts)
  }
  if (trace.route !== null) headers['x-tollgate-route'] = trace.route
  if (trace.maxTokens !== null) headers['x-tollgate-max-tokens'] = String(trace.maxTokens)
  const names = namesOf(dropped)
  if (names.length > 0) headers['x-tollgate-dropped-params'] = names.join(', ')
  return headers
}

/** Names of parameters as a header may carry them; a client can send any text as one. */
function namesOf (dropped: readonly string[]): string[] {
  if (dropped.length === 0) return []
  return [...new Set(dropped)].filter(name => /^[\w.[\]-]{1,64}$/.test(name)).slice(0, maxNames)
}

/** Text as a header may carry it: what is not printable ASCII is percent-encoded. */
export function headerText (value: string): string {
  // A loop takes a tenth of the time of a pattern, and almost all names are plain.
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at)
    if (code < 0x20 || code > 0x7e) return value.toWellFormed().replace(/[^\x20-\x7e]+/g, encodeURIComponent)
  }
  return value
}
