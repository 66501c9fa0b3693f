import type { ServerResponse } from 'node:http'
import type { Deployment, Permit } from '../models/deployments/deployments.ts'
import type { ActiveMember, ActiveSet } from '../shared/timers.ts'
import { isMissingModel } from '../providers/refusals.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import type { Candidate } from './candidates.ts'
import { blameOf, isAnyKeys } from './classify-failure.ts'
import { afterWork, recordCall, recordCallFailure, type RequestRecord } from './request-record.ts'

/** A successful call of a candidate: its complete response, or the beginning of a stream. */
export interface Attempt<C extends Candidate, Result> {
  candidate: C
  response: Result
  /** When the response began, on the clock of `performance.now()`. */
  firstAtMs: number
  permit: Permit
}

/** How to call a candidate, and how to count the tokens of its response for the statistics. */
export interface Call<C extends Candidate, Result> {
  /** Resolves with the complete response, or when a stream has begun. Throws UpstreamError. */
  call (candidate: C, signal: AbortSignal): Promise<Result>
  /** Tokens of a complete response; null for a stream, which continues. */
  tokensOf (response: Result): number | null
}

/** The request for which a candidate is called. */
export interface Caller {
  /** Deployments that have failed for this request: each failure of a request counts once. */
  failed: Set<Deployment>
  /** Records the call. */
  record: RequestRecord
}

/** Time for which other candidates are preferred after a 429 without a retry-after. */
const defaultPauseMs = 1000
/** The same, if a provider does not serve the model. */
const restMs = 300_000

/**
 * Calls a candidate with a permit of its circuit breaker, which this ends, and records the outcome in the
 * request record and in the candidate's health. Throws UpstreamError.
 */
export async function attempt<C extends Candidate, Result> (
  candidate: C, permit: Permit, signal: AbortSignal, { call, tokensOf }: Call<C, Result>, caller: Caller
): Promise<Attempt<C, Result>> {
  const { breaker, statistics } = candidate.health
  const { startedMs } = permit
  const record = recordCall(caller.record, candidate, startedMs)
  try {
    const response = await call(candidate, signal)
    const firstAtMs = performance.now()
    record.status = 200
    record.endedMs = firstAtMs
    const tokens = tokensOf(response)
    const tookMs = firstAtMs - startedMs
    const isSlow = tokens === null
      ? statistics.recordFirstEvent(tookMs)
      : statistics.recordResponse(tokens, tookMs)
    breaker.responded(permit, firstAtMs, isSlow)
    if (tokens !== null) breaker.succeeded(permit, firstAtMs)
    return { candidate, response, firstAtMs, permit }
  } catch (error) {
    recordCallFailure(record, error, caller.record)
    recordFailure(candidate.health, permit, error, caller)
    throw error
  }
}

/** Records the end of a stream that had begun: its failure, or its number of tokens. */
export function recordStreamEnd (
  { candidate: { health }, firstAtMs, permit }: Attempt<Candidate, unknown>, tokens: number | 'broken'
): void {
  const nowMs = performance.now()
  if (tokens === 'broken') {
    health.statistics.recordFailure()
    return health.breaker.failed(permit, nowMs)
  }
  health.statistics.recordStreamEnd(tokens, nowMs - firstAtMs)
  health.breaker.succeeded(permit, nowMs)
}

function recordFailure (health: Deployment, permit: Permit, error: unknown, { failed }: Caller): void {
  const { breaker, statistics } = health
  const nowMs = performance.now()
  if (!(error instanceof UpstreamError)) return breaker.release(permit)
  const { kind, details } = error
  const blame = blameOf(error)
  if (blame === 'works') return breaker.refused(permit, nowMs)
  const isRepeated = failed.has(health)
  if (!isRepeated && (kind === 'rate' || details.missingUrl !== undefined || blame === 'fails')) {
    failed.add(health)
    statistics.recordFailure()
  }
  if (kind === 'rate') breaker.pause(details.retryAfterMs ?? defaultPauseMs, nowMs)
  if (isMissingModel(error)) breaker.pause(restMs, nowMs, restMs)
  if (blame === 'nothing') return breaker.release(permit)
  breaker.failed(permit, nowMs, { isAnyKeys: isAnyKeys(error), isRepeated })
}

/** Counts the calls of one request at their deployments until they fail or the request ends. */
export class CallCounts {
  readonly #counted: Deployment[] = []

  begin (health: Deployment): void {
    health.calls++
    this.#counted.push(health)
  }

  failed (health: Deployment): void {
    const at = this.#counted.indexOf(health)
    // A hedged call may fail after the request has ended.
    if (at === -1) return
    this.#counted.splice(at, 1)
    health.calls--
  }

  end (): void {
    for (let health = this.#counted.pop(); health !== undefined; health = this.#counted.pop()) health.calls--
  }
}

interface DrainsOptions {
  /** Calls that a closing gateway aborts at its time limit. */
  running: ActiveSet<CallAbort>
  /** Time limit of each call, unless the operator's deadline for its request is later. */
  minMs?: number
}

/** Aborts the calls of one request. */
class CallAbort extends AbortController implements ActiveMember {
  slot = -1
}

export type AbandonedCalls = ReturnType<typeof createAbandonedCalls>

/**
 * Lets calls without a stream continue when their client has left or its deadline has passed: providers
 * finish and charge for such a call even if its connection is closed, and only the response reports the
 * usage. Each keeps its hold and counts as a request of its key until it ends.
 */
export function createAbandonedCalls ({ running, minMs = 60_000 }: DrainsOptions) {
  let count = 0

  /** Returns the function that ends the drain. */
  function begin (calls: CallAbort, dueMs: number): () => void {
    count++
    running.add(calls)
    const timer = setTimeout(() => calls.abort(), Math.max(minMs, dueMs - performance.now()))
    return () => {
      count--
      running.delete(calls)
      clearTimeout(timer)
    }
  }

  return {
    /** Calls that continue without their client. */
    get count () { return count },

    /**
     * Runs `work`, which passes its signal to providers. When `signal` aborts, throws at once; the work
     * continues until `dueMs` on the clock of `performance.now()`, unless the gateway closes.
     */
    run (
      signal: AbortSignal, dueMs: number, work: (signal: AbortSignal) => Promise<void>
    ): Promise<void> {
      const calls = new CallAbort()
      let end = (): void => {}
      return new Promise((resolve, reject) => {
        function onAbort (): void {
          if (!isAbandoned(signal)) return calls.abort(signal.reason)
          end = begin(calls, dueMs)
          reject(signal.reason instanceof GatewayError ? signal.reason : clientLeft())
        }
        function onWorked (): void {
          signal.removeEventListener('abort', onAbort)
          end()
        }
        signal.addEventListener('abort', onAbort)
        work(calls.signal).then(() => {
          onWorked()
          resolve()
        }, error => {
          onWorked()
          reject(error)
        })
      })
    }
  }
}

/** Whether the client has left or its deadline has passed, rather than the gateway being closed. */
export function isAbandoned ({ aborted, reason }: AbortSignal): boolean {
  return aborted && (!(reason instanceof GatewayError) || reason.code === 'deadline_exceeded')
}

/** Calls `work` when a response is closed, or at once if its client has already left. */
export function whenClosed (response: ServerResponse, work: () => void): void {
  if (response.closed) work()
  else response.on('close', work)
}

/** Calls `work` when a response is closed and no use case works on its request anymore. */
export function whenOver (response: ServerResponse, record: RequestRecord, work: () => void): void {
  whenClosed(response, () => afterWork(record, work))
}

/** The reason of a signal that aborts because its client has disconnected. */
export function clientLeft (): UpstreamError {
  return new UpstreamError('aborted', 'maybe', 'The client has left.')
}
