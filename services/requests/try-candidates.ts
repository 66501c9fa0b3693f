import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestsConfig } from '../config/catalogue/types.ts'
import type { Deployment } from '../models/deployments/deployments.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { Deadlines, type Watched } from '../shared/timers.ts'
import type { Trace } from './trace.ts'
import { attempt, type Attempt, type Call } from './attempt.ts'
import { conversationOrder, weightedOrder, type Candidate, type Plan } from './candidates.ts'
import { afterWaiting, isUnsure, meaningOf, mostTelling, unavailable } from './classify-failure.ts'
import { hedge } from './hedge.ts'
import { RetrySchedule, type ScheduledTry } from './retry-schedule.ts'
import type { Incoming } from './incoming.ts'
import { SilentProvider, withPatience } from './patience.ts'

/** How often a deployment is called again, and when a second one is called beside a slow one. */
export type RetryLimits = Pick<
  RequestsConfig, 'retries' | 'backoffMs' | 'maxRetryAfterMs' | 'retryUnsure' | 'hedgeAfterMs'
>

/** A request and the candidates that may answer it. */
export interface Search<C extends Candidate, Answer> extends Call<C, Answer> {
  plan: Plan<C>
  limits: RetryLimits
  /** Id of the API key. */
  key: string
  /** How often the client has sent the request before; null if it does not say. */
  clientRetries: number | null
  /** Whether the client still waits: no further call begins once it has aborted. */
  signal: AbortSignal
  /** Aborts the running calls; by default that is `signal` too. */
  callSignal?: AbortSignal
  trace: Trace
  deadline: Deadline
  /**
   * Holds what the candidate may cost, at once or later. A GatewayError for the first candidate refuses the
   * request.
   */
  cover (candidate: C): void | Promise<void>
  onFailure (candidate: C, error: UpstreamError): void
  /** In [0, 1). */
  random: () => number
  /** How long a candidate may be silent while another provider could answer, in ms; null: any time. */
  patience?: ((candidate: C) => number | null) | undefined
  /** Identifies the conversation, which stays with its deployment; absent: the order is random. */
  conversation?: () => string
}

/**
 * The most upstream calls of one request: of one without a header by which its client counts its own retries,
 * of the first one of a client that retries by itself, and of each of its retries. With the two retries of
 * OpenAI's SDKs that makes six.
 */
const maxCalls = { unknown: 8, first: 4, retry: 1 }

function callLimit ({ clientRetries, limits }: Pick<Search<Candidate, unknown>, 'clientRetries' | 'limits'>): number {
  if (clientRetries === null) return Math.max(maxCalls.unknown, limits.retries + 1)
  return clientRetries === 0 ? maxCalls.first : maxCalls.retry
}

/**
 * Calls the candidates one after the other until one answers, before anything has gone to the client: first
 * each once, at another provider if there is one, then again after a backoff. When none answers, throws the
 * failure that helps the client most: UpstreamError, or GatewayError if none was called.
 */
export async function tryCandidates<C extends Candidate, Answer> (
  search: Search<C, Answer>
): Promise<Attempt<C, Answer>> {
  const { plan, limits, random, deadline, signal, key } = search
  const order = (candidates: readonly C[]) => orderOf(candidates, search)
  const schedule = new RetrySchedule({ plan, limits, order, random, key })
  const state: State = { failures: [], failed: new Set(), isCovered: false, callsLeft: callLimit(search) }
  while (state.callsLeft > 0) {
    const nowMs = performance.now()
    const turn = schedule.next(nowMs)
    if (turn === null || nowMs + turn.waitMs >= deadline.dueMs) break
    if (turn.waitMs > 0) await pause(turn.waitMs, signal)
    const answered = await take(search, turn, schedule, state)
    if (answered !== null) return answered
  }
  throw failureOf(search, schedule, state)
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
  /** The deployments that have failed. */
  failed: Set<Deployment>
  /** Whether a candidate's price was to be held. */
  isCovered: boolean
  callsLeft: number
}

/** Tries one candidate; null when another one may do better. */
async function take<C extends Candidate, Answer> (
  search: Search<C, Answer>, turn: ScheduledTry<C>, schedule: RetrySchedule<C>, state: State
): Promise<Attempt<C, Answer> | null> {
  const { limits, signal } = search
  const { candidate } = turn
  const isFirst = !state.isCovered
  state.isCovered = true
  try {
    const covering = search.cover(candidate)
    if (covering !== undefined) await covering
  } catch (error) {
    // The first refusal ends the request; a later one rules the candidate out.
    if (isFirst || !(error instanceof GatewayError)) throw error
    if (signal.aborted) throw abortedBefore(signal.reason)
    schedule.drop(candidate)
    return null
  }
  if (signal.aborted) throw abortedBefore(signal.reason)
  try {
    const answered = await call(search, turn, schedule, state)
    if (answered === null) schedule.blocked(turn, performance.now())
    return answered
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.kind === 'aborted' || signal.aborted) throw error
    const meaning = meaningOf(error, schedule.isFallback(candidate))
    if (meaning === 'stop' || (!limits.retryUnsure && isUnsure(error))) throw error
    return null
  }
}

function failureOf<C extends Candidate> (
  { plan, clientRetries, deadline }: Pick<Search<C, unknown>, 'plan' | 'clientRetries' | 'deadline'>,
  schedule: RetrySchedule<C>, state: State
): Error {
  const telling = mostTelling(state.failures)
  if (telling === undefined) {
    if (performance.now() >= deadline.dueMs) return GatewayError.deadlineExceeded(deadline.limitMs)
    return unavailable(plan.asked.map(({ health }) => health))
  }
  const hasWaited = schedule.hasWaited() || (clientRetries ?? 0) > 0
  return hasWaited && telling.details.retryAfterMs !== undefined ? afterWaiting(telling) : telling
}

/** Calls one candidate, and a second one beside it if hedging is on; null if its circuit breaker is open. */
function call<C extends Candidate, Answer> (
  search: Search<C, Answer>, scheduled: ScheduledTry<C>, schedule: RetrySchedule<C>, state: State
): Promise<Attempt<C, Answer> | null> | null {
  const { candidate, isLastWay } = scheduled
  const { limits: { hedgeAfterMs }, callSignal = search.signal, trace, key } = search
  const { tokensOf } = search

  function ask (one: C, signal: AbortSignal): Promise<Answer> {
    const waitMs = patienceWith(search, one, schedule, state)
    if (waitMs === null) return search.ask(one, signal)
    const { breaker } = one.health
    const startedMs = performance.now()
    return withPatience(waitMs, signal, signal => search.ask(one, signal),
      () => breaker.overdue(startedMs, startedMs + waitMs, performance.now()))
  }

  function callOne (one: C, signal: AbortSignal): Promise<Attempt<C, Answer>> | null {
    const startedMs = performance.now()
    const permit = one.health.breaker.acquire(startedMs, key, isLastWay)
    if (permit === null) return null
    trace.attempts++
    state.callsLeft--
    return attempt(one, permit, signal, { ask, tokensOf }, {
      failed: state.failed,
      trace,
      onFailure (error) {
        if (error instanceof SilentProvider) one.health.breaker.silent(startedMs, performance.now())
        if (!(error instanceof UpstreamError) || error.kind === 'aborted') return
        state.failures.push(error)
        schedule.failed(one, error, performance.now())
        search.onFailure(one, error)
      }
    })
  }

  if (hedgeAfterMs === null) return callOne(candidate, callSignal)
  return hedge(hedgeAfterMs, callSignal, async signal => await callOne(candidate, signal), () => {
    const mayCall = state.callsLeft > 0 && !search.signal.aborted
    const second = mayCall ? schedule.spare(candidate, performance.now()) : null
    return second && (async signal => await callOne(second, signal))
  })
}

/** How long to wait for a candidate; null: until its own timeout, because nothing else could answer. */
function patienceWith<C extends Candidate> (
  { patience, limits }: Pick<Search<C, unknown>, 'patience' | 'limits'>,
  candidate: C, schedule: RetrySchedule<C>, { callsLeft }: State
): number | null {
  const waitMs = patience?.(candidate) ?? null
  if (waitMs === null || callsLeft === 0 || !limits.retryUnsure) return null
  return schedule.hasElsewhere(candidate, performance.now()) ? waitMs : null
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

/** When a request must be answered. */
interface Deadline {
  /** On the clock of `performance.now()`. */
  readonly dueMs: number
  /** How long after its arrival that is. */
  readonly limitMs: number
}

const deadlines = new Deadlines()

/**
 * Gives a request up with 504 at its deadline, until `stop` is called: at the client's or that of the
 * operator, whichever is earlier. A stream that has begun has a later one of the operator.
 */
export class RequestDeadline implements Deadline, Watched {
  slot = -1
  dueMs: number
  limitMs: number
  readonly #incoming: Pick<Incoming<unknown>, 'giveUp' | 'deadlineMs'>
  readonly #streamMs: number
  #error = GatewayError.deadlineExceeded

  constructor (
    incoming: Pick<Incoming<unknown>, 'giveUp' | 'deadlineMs'>,
    { deadlineMs, streamMs }: Pick<RequestsConfig, 'deadlineMs' | 'streamMs'>
  ) {
    this.#incoming = incoming
    this.#streamMs = streamMs
    this.limitMs = Math.min(incoming.deadlineMs ?? Infinity, deadlineMs)
    this.dueMs = performance.now() + this.limitMs
    deadlines.add(this)
  }

  /** Call once the first event of a stream has come. */
  streamBegan (): void {
    const arrivedMs = this.dueMs - this.limitMs
    this.limitMs = Math.min(this.#incoming.deadlineMs ?? Infinity, this.#streamMs)
    this.dueMs = arrivedMs + this.limitMs
    this.#error = GatewayError.streamDeadlineExceeded
  }

  onDeadline (): void {
    this.#incoming.giveUp(this.#error(this.limitMs))
  }

  stop (): void {
    deadlines.delete(this)
  }
}
