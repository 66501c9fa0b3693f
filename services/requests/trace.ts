import type { StreamReport } from '../providers/provider.ts'
import type { Candidate } from './candidates.ts'

/**
 * What one request turned out to be: filled by the use case, read by the log line. Never a prompt, never a
 * key.
 */
export interface Trace {
  /** The model id the client asked for. */
  asked: string | null
  /** The public id of the model that ran, the provider it ran at, and its name there. */
  model: string | null
  provider: string | null
  upstreamModel: string | null
  /** What was decided when the gateway chose the model; null: the client named it. */
  route: string | null
  /** How often a provider was called for it. */
  attempts: number
  report: StreamReport | null
  /** How many images were made. */
  images: number | null
  /** The job that makes a video. */
  job: string | null
  /** When the first byte of the answer went out, on the clock of `performance.now()`. */
  firstByteAtMs: number | null
  /** What the request was charged, in nano-USD; null while that is not known. */
  costNano: number | null
  /** Why the answer broke off after its status had been sent. */
  failure: Error | null
}

/** Notes the candidate that answered, or that stands for the request when none did. */
export function setCandidate (trace: Trace, candidate: Candidate | undefined): void {
  trace.model = candidate?.model.id ?? null
  trace.provider = candidate?.provider.id ?? null
  trace.upstreamModel = candidate?.deployment.model ?? null
}

/** A trace of a request about which nothing is known yet. */
export function createTrace (): Trace {
  return {
    asked: null,
    model: null,
    provider: null,
    upstreamModel: null,
    route: null,
    attempts: 0,
    report: null,
    images: null,
    job: null,
    firstByteAtMs: null,
    costNano: null,
    failure: null
  }
}
