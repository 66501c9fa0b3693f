import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestsConfig } from '../catalogue/types.ts'
import { UpstreamError } from '../shared/errors.ts'
import type { Trace } from './trace.ts'
import { callCandidate } from './attempt.ts'
import type { Answer, Found } from './attempt.ts'
import type { Candidate, Plan } from './candidates.ts'
import { isUnsure, meaningOf, mostTelling, unavailable } from './classify-failure.ts'
import { hedge } from './hedge.ts'
import type { Start } from './hedge.ts'
import { inOrder } from './weighted-order.ts'
import { createTurns } from './retry-schedule.ts'
import type { Turns } from './retry-schedule.ts'

/** A request that looks for somebody to answer it. */
export interface Search {
  plan: Plan
  limits: RequestsConfig
  signal: AbortSignal
  trace: Trace
  /** When the request must be answered, on the clock of `performance.now()`. */
  dueMs: number
  /** Sets the candidate's price aside; false when there is no money for it. Throws what forbids to go on. */
  prepare (candidate: Candidate): boolean | Promise<boolean>
  ask (candidate: Candidate, signal: AbortSignal): Promise<Answer>
  onFailure (candidate: Candidate, error: UpstreamError): void
  random: () => number
}

/**
 * Finds the first candidate that answers, before anything has gone to the client. Throws what tells the
 * client most when none does: UpstreamError, or GatewayError when none was to be called.
 */
export async function findAnswer (search: Search): Promise<Found> {
  const failures: UpstreamError[] = []
  for (let round = 0; ; round++) {
    const turns = turnsOf(search, search.plan.asked, false)
    const found = await tryModel(search, turns, failures)
    if (found !== null) return found
    for (const candidates of search.plan.fallbacks()) {
      const found = await tryModel(search, turnsOf(search, candidates, true), failures)
      if (found !== null) return found
    }
    if (round >= search.limits.retries || !await bridge(search, turns.barred())) break
  }
  throw mostTelling(failures) ?? unavailable(search.plan.asked.map(({ known }) => known))
}

/** Most requests that wait for a breaker at the same time: an outage must not fill the memory. */
const maxBridging = 1000
let bridging = 0

/**
 * Waits for the first of the deployments whose breaker was open, so that a short outage is not seen; returns
 * false when there is none, or it takes too long. One that has let go meanwhile, while fallbacks were tried,
 * is not missed.
 */
async function bridge ({ limits, dueMs, signal }: Search, barred: readonly Candidate[]): Promise<boolean> {
  const nowMs = performance.now()
  const shutMs = barred.map(({ known }) => known.breaker.waitMs(nowMs))
  const waitMs = Math.max(limits.backoffMs, Math.min(...shutMs))
  if (waitMs > limits.maxRetryAfterMs || nowMs + waitMs >= dueMs || bridging >= maxBridging) return false
  bridging++
  try {
    await pause(waitMs, signal)
  } finally {
    bridging--
  }
  return true
}

function turnsOf ({ limits, random }: Search, candidates: readonly Candidate[], isFallback: boolean): Turns {
  return createTurns(inOrder(candidates, random), limits, isFallback, random)
}

/** Tries the deployments of one model; null when another model has to be tried. */
async function tryModel (search: Search, turns: Turns, failures: UpstreamError[]): Promise<Found | null> {
  const { limits } = search
  for (let nowMs = performance.now(); ; nowMs = performance.now()) {
    const turn = turns.next(nowMs)
    if (turn === null || nowMs + turn.waitMs >= search.dueMs) return null
    if (turn.waitMs > 0) await pause(turn.waitMs, search.signal)
    const { candidate } = turn
    const prepared = search.prepare(candidate)
    if (!(prepared instanceof Promise ? await prepared : prepared)) {
      turns.leave(candidate)
      continue
    }
    try {
      const found = await call(search, candidate, turns, failures)
      if (found !== null) return found
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.kind === 'aborted') throw error
      const meaning = meaningOf(error, turns.isFallback)
      if (meaning === 'stop' || (!limits.retryUnsure && isUnsure(error))) throw error
      if (meaning === 'model') return null
    }
  }
}

/** Calls one candidate, and a second one beside it where that is wanted; null when neither could be. */
function call (
  search: Search, candidate: Candidate, turns: Turns, failures: UpstreamError[]
): Promise<Found | null> {
  const { limits: { hedgeAfterMs }, signal, trace } = search

  async function attempt (one: Candidate, signal: AbortSignal): Promise<Found | null> {
    trace.attempts++
    try {
      const found = await callCandidate(one, () => search.ask(one, signal))
      if (found === null) trace.attempts--
      return found
    } catch (error) {
      if (error instanceof UpstreamError && error.kind !== 'aborted') {
        failures.push(error)
        turns.failed(one, error, performance.now())
        search.onFailure(one, error)
      }
      throw error
    }
  }

  function spare (): Start<Found | null> | null {
    const second = turns.spare(candidate, performance.now())
    return second && (signal => attempt(second, signal))
  }

  if (hedgeAfterMs === null) return attempt(candidate, signal)
  return hedge(hedgeAfterMs, signal, signal => attempt(candidate, signal), spare)
}

/**
 * Waits at least so long: a timer alone may be early by a millisecond, when a breaker is still open. Throws
 * UpstreamError `aborted` when the signal aborts; no provider is at work meanwhile.
 */
async function pause (waitMs: number, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + waitMs
  try {
    for (let leftMs = waitMs; leftMs > 0; leftMs = untilMs - performance.now()) {
      await sleep(Math.ceil(leftMs), undefined, { signal })
    }
  } catch (cause) {
    throw new UpstreamError('aborted', 'no', 'The request was aborted while it waited to be tried again.', { cause })
  }
}
