import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestsConfig } from '../config/catalogue/types.ts'
import type { Deployment } from '../models/deployments/deployments.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { attempt, CallCounts, type Attempt, type Call } from './attempt.ts'
import { conversationOrder, weightedOrder, type Candidate, type Plan } from './candidates.ts'
import { afterWaiting, isUnsure, meaningOf, mostTelling, unavailable } from './classify-failure.ts'
import type { Deadline } from './deadline.ts'
import { hedge } from './hedge.ts'
import { SilentProvider, withPatience } from './patience.ts'
import { RetrySchedule, type ScheduledTry } from './retry-schedule.ts'
import type { RequestRecord } from './request-record.ts'

/** The number of retries of a deployment, and when a slow one is hedged. */
export type RetryLimits = Pick<
  RequestsConfig, 'retries' | 'backoffMs' | 'maxRetryAfterMs' | 'retryUnsure' | 'hedgeAfterMs'
>

/** A request and its candidates. */
export interface Search<C extends Candidate> {
  plan: Plan<C>
  limits: RetryLimits
  /** Id of the API key. */
  key: string
  /** The number of earlier tries by the client, or null if it does not say. */
  clientRetries: number | null
  /** Whether the client still waits: no further call begins once it has aborted. */
  signal: AbortSignal
  /** Aborts the running calls; by default that is `signal` too. */
  callSignal?: AbortSignal
  record: RequestRecord
  deadline: Deadline
  onFailure (candidate: C, error: UpstreamError): void
  /** In [0, 1). */
  random: () => number
  /** Patience with a silent candidate while another provider could be called, in ms; null for no limit. */
  patience?: ((candidate: C) => number | null) | undefined
  /** Identifies the conversation, which stays with its deployment; without it, the order is random. */
  conversation?: () => string
}

/** One candidate in its turn: reserve its maximum cost, then call it. */
interface Turn<C extends Candidate> {
  readonly candidate: C
  /**
   * Waits for the reservation. Resolves with false if a later candidate than the first was refused: the next
   * one may cost less. Otherwise throws the error of `reserving`, or UpstreamError `aborted`.
   */
  reserved (reserving: Promise<unknown>): Promise<boolean>
  /**
   * Calls the candidate, and a second one at the same price if hedging is on. Resolves with null if it failed
   * or its circuit breaker is open, and the next one may succeed. Throws UpstreamError if none would.
   */
  call<Result> (call: Call<C, Result>): Promise<Attempt<C, Result> | null>
}

/**
 * The most upstream calls of one request: of a client that does not report its retries, of the first try of a
 * client that does, and of each of its retries. With the two retries of OpenAI's SDKs that makes six.
 */
const maxCalls = { unknown: 8, first: 4, retry: 1 }

function callLimit ({ clientRetries, limits }: Pick<Search<Candidate>, 'clientRetries' | 'limits'>): number {
  if (clientRetries === null) return Math.max(maxCalls.unknown, limits.retries + 1)
  return clientRetries === 0 ? maxCalls.first : maxCalls.retry
}

/**
 * Yields the candidates in their turns, until the caller stops after a success: first each once, preferring
 * other providers, then again after a backoff. When none is left, throws the failure that helps the client
 * most: UpstreamError, or GatewayError if none was called.
 */
export async function * failover<C extends Candidate> (search: Search<C>): AsyncGenerator<Turn<C>, void> {
  const { plan, limits, random, deadline, signal, key } = search
  const order = (candidates: readonly C[]) => orderOf(candidates, search)
  const schedule = new RetrySchedule({ plan, limits, order, random, key })
  const callsLeft = callLimit(search)
  const state: State = { failures: [], failed: new Set(), callsLeft, calls: new CallCounts() }
  try {
    for (let isFirst = true; state.callsLeft > 0; isFirst = false) {
      const nowMs = performance.now()
      const next = schedule.next(nowMs)
      if (next === null || nowMs + next.waitMs >= deadline.dueMs) break
      if (next.waitMs > 0) await pause(next.waitMs, signal)
      yield {
        candidate: next.candidate,
        reserved: reserving => reserved(reserving, isFirst, { search, schedule, next }),
        call: call => callInTurn(call, { search, schedule, next, state })
      }
    }
    throw failureOf(search, schedule, state)
  } finally {
    state.calls.end()
  }
}

/** A single candidate needs no hash of the conversation. */
function orderOf<C extends Candidate> (
  candidates: readonly C[], { conversation, random }: Pick<Search<C>, 'conversation' | 'random'>
): readonly C[] {
  if (candidates.length < 2) return candidates
  if (conversation === undefined) return weightedOrder(candidates, random)
  return conversationOrder(candidates, conversation(), performance.now())
}

interface State {
  failures: UpstreamError[]
  /** The deployments that have failed. */
  failed: Set<Deployment>
  callsLeft: number
  calls: CallCounts
}

interface Context<C extends Candidate> {
  search: Search<C>
  schedule: RetrySchedule<C>
  next: ScheduledTry<C>
  state: State
}

async function reserved<C extends Candidate> (
  reserving: Promise<unknown>, isFirst: boolean, { search: { signal }, schedule, next }: Omit<Context<C>, 'state'>
): Promise<boolean> {
  try {
    await reserving
  } catch (error) {
    // A refusal of the first candidate ends the request; a later one only excludes the candidate.
    if (isFirst || !(error instanceof GatewayError)) throw error
    if (signal.aborted) throw abortedBefore(signal.reason)
    schedule.drop(next.candidate)
    return false
  }
  if (signal.aborted) throw abortedBefore(signal.reason)
  return true
}

async function callInTurn<C extends Candidate, Result> (
  call: Call<C, Result>, context: Context<C>
): Promise<Attempt<C, Result> | null> {
  const { search: { limits, signal }, schedule, next } = context
  try {
    const responded = await callHedged(call, context)
    if (responded === null) schedule.blocked(next, performance.now())
    return responded
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.kind === 'aborted' || signal.aborted) throw error
    const meaning = meaningOf(error, schedule.isFallback(next.candidate))
    if (meaning === 'stop' || (!limits.retryUnsure && isUnsure(error))) throw error
    return null
  }
}

/** Calls one candidate, and a second one if hedging is on; null if its circuit breaker is open. */
async function callHedged<C extends Candidate, Result> (
  call: Call<C, Result>, context: Context<C>
): Promise<Attempt<C, Result> | null> {
  const { search, schedule, next: { candidate }, state } = context
  const { limits: { hedgeAfterMs }, callSignal = search.signal } = search
  if (hedgeAfterMs === null) return await callOne(candidate, callSignal, call, context)
  return await hedge(hedgeAfterMs, callSignal, signal => callOne(candidate, signal, call, context), () => {
    const mayCall = state.callsLeft > 0 && !search.signal.aborted
    const second = mayCall ? schedule.spare(candidate, performance.now()) : null
    return second && (signal => callOne(second, signal, call, context))
  })
}

/** Calls one candidate and records the call; null if its circuit breaker is open. */
async function callOne<C extends Candidate, Result> (
  candidate: C, signal: AbortSignal, { call, tokensOf }: Call<C, Result>, context: Context<C>
): Promise<Attempt<C, Result> | null> {
  const { search, schedule, next: { isLastWay }, state } = context
  const { record, key } = search
  const startedMs = performance.now()
  const { breaker } = candidate.health
  const permit = breaker.acquire(startedMs, key, isLastWay)
  if (permit === null) return null
  record.attempts++
  state.callsLeft--
  state.calls.begin(candidate.health)
  const waitMs = patienceWith(candidate, context)
  const onOverdue = (): void => breaker.overdue(startedMs, startedMs + (waitMs ?? 0), performance.now())
  const patiently: typeof call = waitMs === null
    ? call
    : (one, signal) => withPatience(waitMs, signal, signal => call(one, signal), onOverdue)
  try {
    const caller = { failed: state.failed, record }
    return await attempt(candidate, permit, signal, { call: patiently, tokensOf }, caller)
  } catch (error) {
    state.calls.failed(candidate.health)
    if (error instanceof SilentProvider) breaker.silent(startedMs, performance.now())
    if (error instanceof UpstreamError && error.kind !== 'aborted') {
      state.failures.push(error)
      schedule.failed(candidate, error, performance.now())
      search.onFailure(candidate, error)
    }
    throw error
  }
}

/** Patience with a candidate; null applies only its timeout, because no other could be called. */
function patienceWith<C extends Candidate> (
  candidate: C, { search: { patience, limits }, schedule, state: { callsLeft } }: Context<C>
): number | null {
  const waitMs = patience?.(candidate) ?? null
  if (waitMs === null || callsLeft === 0 || !limits.retryUnsure) return null
  return schedule.hasElsewhere(candidate, performance.now()) ? waitMs : null
}

function failureOf<C extends Candidate> (
  { plan, clientRetries, deadline }: Pick<Search<C>, 'plan' | 'clientRetries' | 'deadline'>,
  schedule: RetrySchedule<C>, state: State
): Error {
  const telling = mostTelling(state.failures)
  if (telling === undefined) {
    if (performance.now() >= deadline.dueMs) return GatewayError.deadlineExceeded(deadline.limitMs)
    return unavailable(plan.requested.map(({ health }) => health))
  }
  const hasWaited = schedule.hasWaited() || (clientRetries ?? 0) > 0
  return hasWaited && telling.details.retryAfterMs !== undefined ? afterWaiting(telling) : telling
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
