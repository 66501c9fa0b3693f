import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestsConfig } from '../catalogue/types.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import type { Trace } from './trace.ts'
import { attempt, type Attempt, type Call } from './attempt.ts'
import { conversationOrder, weightedOrder, type Candidate, type Plan } from './candidates.ts'
import { isUnsure, meaningOf, mostTelling, unavailable } from './classify-failure.ts'
import { hedge } from './hedge.ts'
import { createRetrySchedule, type RetrySchedule } from './retry-schedule.ts'
import type { Incoming } from './incoming.ts'

/** How often a deployment is called again, and when a second one is called beside a slow one. */
export type RetryLimits = Pick<
  RequestsConfig, 'retries' | 'backoffMs' | 'maxRetryAfterMs' | 'retryUnsure' | 'hedgeAfterMs'
>

/** A request and the candidates that may answer it. */
export interface Search<C extends Candidate, Answer> extends Call<C, Answer> {
  plan: Plan<C>
  limits: RetryLimits
  /** Whether the client still waits: no further call begins once it has aborted. */
  signal: AbortSignal
  /** Aborts the running calls; by default that is `signal` too. */
  callSignal?: AbortSignal
  trace: Trace
  /** When the request must be answered, on the clock of `performance.now()`. */
  dueMs: number
  /** Holds what the candidate may cost. A GatewayError for the first candidate refuses the request. */
  cover (candidate: C): Promise<void>
  onFailure (candidate: C, error: UpstreamError): void
  /** In [0, 1). */
  random: () => number
  /** Identifies the conversation, which stays with its deployment; absent: the order is random. */
  conversation?: () => string
}

/**
 * Calls the candidates one after the other until one answers, before anything has gone to the client: the
 * deployments of the model asked for, then those of its fallbacks, then each again after a backoff. When none
 * answers, throws the failure that helps the client most: UpstreamError, or GatewayError if none was called.
 */
export async function tryCandidates<C extends Candidate, Answer> (
  search: Search<C, Answer>
): Promise<Attempt<C, Answer>> {
  const { plan, limits, random } = search
  const state: State = { failures: [], isCovered: false }
  const scheduleOf = (candidates: readonly C[], isFallback: boolean): RetrySchedule<C> => {
    return createRetrySchedule(orderOf(candidates, search), limits, isFallback, random)
  }
  for (let round = 0; ; round++) {
    const schedule = scheduleOf(plan.asked, false)
    const answered = await tryModel(search, schedule, state)
    if (answered !== null) return answered
    for (const candidates of plan.fallbacks()) {
      const answered = await tryModel(search, scheduleOf(candidates, true), state)
      if (answered !== null) return answered
    }
    if (round >= limits.retries || !await waitForHalfOpen(search, schedule.skipped())) break
  }
  throw mostTelling(state.failures) ?? unavailable(plan.asked.map(({ health }) => health))
}

/** A single candidate needs no hash of the conversation. */
function orderOf<C extends Candidate> (
  candidates: readonly C[], { conversation, random }: Pick<Search<C, unknown>, 'conversation' | 'random'>
): readonly C[] {
  if (candidates.length < 2) return candidates
  if (conversation === undefined) return weightedOrder(candidates, random)
  return conversationOrder(candidates, conversation(), performance.now())
}

interface State {
  failures: UpstreamError[]
  /** Whether a candidate's price has been held. */
  isCovered: boolean
}

/** Tries the deployments of one model; null when another model has to be tried. */
async function tryModel<C extends Candidate, Answer> (
  search: Search<C, Answer>, schedule: RetrySchedule<C>, state: State
): Promise<Attempt<C, Answer> | null> {
  const { limits, dueMs, signal } = search
  for (let nowMs = performance.now(); ; nowMs = performance.now()) {
    const next = schedule.next(nowMs)
    if (next === null || nowMs + next.waitMs >= dueMs) return null
    if (next.waitMs > 0) await pause(next.waitMs, signal)
    const { candidate } = next
    const isCovered = await isAffordable(search, candidate, state)
    if (signal.aborted) throw abortedBefore(signal.reason)
    if (!isCovered) {
      schedule.drop(candidate)
      continue
    }
    try {
      const answered = await call(search, candidate, schedule, state.failures)
      if (answered !== null) return answered
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.kind === 'aborted' || signal.aborted) throw error
      const meaning = meaningOf(error, schedule.isFallback)
      if (meaning === 'stop' || (!limits.retryUnsure && isUnsure(error))) throw error
      if (meaning === 'model') return null
    }
  }
}

/** Holds a candidate's price. The first refusal ends the request; a later one rules the candidate out. */
async function isAffordable<C extends Candidate> (
  { cover }: Search<C, unknown>, candidate: C, state: State
): Promise<boolean> {
  const isFirst = !state.isCovered
  state.isCovered = true
  try {
    await cover(candidate)
    return true
  } catch (error) {
    if (isFirst || !(error instanceof GatewayError)) throw error
    return false
  }
}

/** Calls one candidate, and a second one beside it if hedging is on; null if its circuit breaker is open. */
function call<C extends Candidate, Answer> (
  search: Search<C, Answer>, candidate: C, schedule: RetrySchedule<C>, failures: UpstreamError[]
): Promise<Attempt<C, Answer> | null> {
  const { limits: { hedgeAfterMs }, callSignal = search.signal, trace } = search

  async function callOne (one: C, signal: AbortSignal): Promise<Attempt<C, Answer> | null> {
    trace.attempts++
    try {
      const answered = await attempt(one, signal, search)
      if (answered === null) trace.attempts--
      return answered
    } catch (error) {
      if (error instanceof UpstreamError && error.kind !== 'aborted') {
        failures.push(error)
        schedule.failed(one, error, performance.now())
        search.onFailure(one, error)
      }
      throw error
    }
  }

  if (hedgeAfterMs === null) return callOne(candidate, callSignal)
  return hedge(hedgeAfterMs, callSignal, signal => callOne(candidate, signal), () => {
    const second = schedule.spare(candidate, performance.now())
    return second && (signal => callOne(second, signal))
  })
}

/** Bounds the requests that wait for a circuit breaker, so that an outage does not fill the memory. */
const maxWaiting = 1000
let waiting = 0

/**
 * Waits for the first open circuit breaker to become half-open, so that a short outage goes unnoticed.
 * Returns false when there is none or the wait would be too long.
 */
async function waitForHalfOpen (
  { limits, dueMs, signal }: Pick<Search<Candidate, unknown>, 'limits' | 'dueMs' | 'signal'>, skipped: readonly Candidate[]
): Promise<boolean> {
  const nowMs = performance.now()
  const openMs = skipped.map(({ health }) => health.breaker.waitMs(nowMs))
  const waitMs = Math.max(limits.backoffMs, Math.min(...openMs))
  if (waitMs > limits.maxRetryAfterMs || nowMs + waitMs >= dueMs || waiting >= maxWaiting) return false
  waiting++
  try {
    await pause(waitMs, signal)
  } finally {
    waiting--
  }
  return true
}

/**
 * Waits at least this long; a timer alone may fire a millisecond early. Throws UpstreamError `aborted` when
 * the signal aborts.
 */
async function pause (waitMs: number, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + waitMs
  try {
    for (let leftMs = waitMs; leftMs > 0; leftMs = untilMs - performance.now()) {
      await sleep(Math.ceil(leftMs), undefined, { signal })
    }
  } catch (cause) {
    throw abortedBefore(cause)
  }
}

function abortedBefore (cause: unknown): UpstreamError {
  return new UpstreamError('aborted', 'no', 'The request was aborted while it waited for a call.', { cause })
}

/** Gives a request up with 504 when it takes longer than `limitMs`, until `stop` is called. */
export function startDeadline (
  { giveUp }: Pick<Incoming<unknown>, 'giveUp'>, limitMs: number
): { dueMs: number, stop (): void } {
  const dueMs = performance.now() + limitMs
  const timer = setTimeout(() => giveUp(GatewayError.deadlineExceeded(limitMs)), limitMs)
  return { dueMs, stop: () => clearTimeout(timer) }
}
