import type { RequestsConfig } from '../config/catalogue/types.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { Candidate, Plan } from './candidates.ts'
import { isProviders, isUntranslatable, meaningOf } from './classify-failure.ts'

export interface ScheduledTry<C> {
  candidate: C
  waitMs: number
  /** Its circuit breaker is open, and the request has no other deployment. */
  isLastWay: boolean
}

interface Entry<C> {
  candidate: C
  isFallback: boolean
  tries: number
  /** Number of rejections and timeouts. */
  refusals: number
  /** Number and total length of the retry-afters it sent. */
  delays: number
  delaysMs: number
  notBeforeMs: number
  /** Its circuit breaker has rejected this request. */
  isBlocked: boolean
  isOut: boolean
}

interface ScheduleOptions<C> {
  plan: Plan<C>
  limits: Pick<RequestsConfig, 'retries' | 'backoffMs' | 'maxRetryAfterMs'>
  /** The order in which to try the deployments of one model. */
  order: (candidates: readonly C[]) => readonly C[]
  /** In [0, 1). */
  random: () => number
  /** Id of the API key. */
  key: string
}

const maxBackoffMs = 8000
/** A deployment that rejected the request or was too slow gets one more try, after all others. */
const maxRefusals = 2
/** A retry-after is waited out once, and a second time only if both are short. */
const shortDelaysMs = 500

/**
 * The order and times of the candidates of one request: first each candidate at once, the requested model
 * before its fallbacks, and providers without a failure before all others; then paused candidates; then
 * retries, each after a doubling backoff with jitter or the provider's retry-after; last those with an open
 * breaker. Times are monotonic.
 */
export class RetrySchedule<C extends Candidate> {
  readonly #options: ScheduleOptions<C>
  readonly #entries: Entry<C>[] = []
  readonly #failedProviders = new Set<string>()
  #fallbacks: Iterator<readonly C[]> | null = null

  constructor (options: ScheduleOptions<C>) {
    this.#options = options
    this.#addAll(options.plan.requested, false)
  }

  /** The next candidate and the wait before it; null if none is left. */
  next (nowMs: number): ScheduledTry<C> | null {
    const callable = this.#fresh(nowMs) ?? this.#soonest(nowMs, false)
    const entry = callable ?? this.#soonest(nowMs, true)
    if (entry === undefined) return null
    const waitMs = Math.max(0, entry.notBeforeMs - nowMs)
    return { candidate: entry.candidate, waitMs, isLastWay: callable === undefined }
  }

  /** An untried candidate with the same price that may be called at once, or null. */
  spare (beside: C, nowMs: number): C | null {
    const { key } = this.#options
    return this.#entries.find(({ candidate, tries, isOut }) => {
      return candidate !== beside && tries === 0 && !isOut && candidate.price === beside.price &&
        candidate.health.breaker.state(nowMs, key) === 'ready'
    })?.candidate ?? null
  }

  /** Whether an untried candidate of another provider may be called at once. */
  hasElsewhere (beside: C, nowMs: number): boolean {
    return this.#freshElsewhere(nowMs, beside.deployment.provider) !== undefined
  }

  isFallback (candidate: C): boolean {
    return this.#find(candidate)?.isFallback ?? false
  }

  failed (candidate: C, error: UpstreamError, nowMs: number): void {
    const entry = this.#find(candidate)
    if (entry === undefined) return
    const { limits } = this.#options
    const { retryAfterMs = 0, shouldRetry, ranOut } = error.details
    const meaning = meaningOf(error, entry.isFallback)
    if (isProviders(error, meaning)) this.#failedProviders.add(candidate.deployment.provider)
    if (meaning === 'model') for (const one of this.#entries) one.isOut ||= one.candidate.model === candidate.model
    entry.tries++
    if (meaning !== 'passing') entry.refusals++
    if (retryAfterMs > 0) entry.delays++
    entry.delaysMs += retryAfterMs
    const isAlone = this.#entries.length === 1
    // A call that timed out would take as long again, and may be charged twice.
    entry.isOut ||= isUntranslatable(error) || ranOut === true || shouldRetry === false ||
      retryAfterMs > limits.maxRetryAfterMs || entry.tries > limits.retries ||
      entry.refusals >= maxRefusals || (entry.delays > 1 && entry.delaysMs > shortDelaysMs) ||
      (isAlone && meaning === 'refused')
    entry.notBeforeMs = nowMs + Math.max(retryAfterMs, this.#backoffMs(entry.tries))
  }

  /** Its circuit breaker rejected the call. */
  blocked ({ candidate, isLastWay }: ScheduledTry<C>, nowMs: number): void {
    const entry = this.#find(candidate)
    if (entry === undefined) return
    entry.isBlocked = true
    if (!isLastWay) return
    entry.tries++
    entry.isOut = entry.tries > this.#options.limits.retries
    entry.notBeforeMs = nowMs + this.#backoffMs(entry.tries)
  }

  /** Excludes a candidate for this request. */
  drop (candidate: C): void {
    const entry = this.#find(candidate)
    if (entry !== undefined) entry.isOut = true
  }

  /** Whether a retry-after was waited out in vain. */
  hasWaited (): boolean {
    return this.#entries.some(({ delays }) => delays > 1)
  }

  #addAll (candidates: readonly C[], isFallback: boolean): void {
    for (const candidate of this.#options.order(candidates)) {
      this.#entries.push({
        candidate,
        isFallback,
        tries: 0,
        refusals: 0,
        delays: 0,
        delaysMs: 0,
        notBeforeMs: -Infinity,
        isBlocked: false,
        isOut: false
      })
    }
  }

  /** Adds the next fallback; false if there is none. */
  #addFallback (): boolean {
    this.#fallbacks ??= this.#options.plan.fallbacks()[Symbol.iterator]()
    const { done, value } = this.#fallbacks.next()
    if (done === true) return false
    this.#addAll(value, true)
    return true
  }

  #find (candidate: C): Entry<C> | undefined {
    return this.#entries.find(entry => entry.candidate === candidate)
  }

  #stateOf ({ candidate, isBlocked }: Entry<C>, nowMs: number): 'ready' | 'paused' | 'open' {
    return isBlocked ? 'open' : candidate.health.breaker.state(nowMs, this.#options.key)
  }

  #isFresh (entry: Entry<C>, nowMs: number): boolean {
    return entry.tries === 0 && !entry.isOut && this.#stateOf(entry, nowMs) === 'ready'
  }

  /** The first untried candidate at a provider without a failure; adds fallbacks to find one. */
  #freshElsewhere (nowMs: number, besides: string | null): Entry<C> | undefined {
    const isElsewhere = (entry: Entry<C>): boolean => {
      const { provider } = entry.candidate.deployment
      return this.#isFresh(entry, nowMs) && !this.#failedProviders.has(provider) && provider !== besides
    }
    let found = this.#entries.find(isElsewhere)
    while (found === undefined && this.#addFallback()) found = this.#entries.find(isElsewhere)
    return found
  }

  #fresh (nowMs: number): Entry<C> | undefined {
    return this.#freshElsewhere(nowMs, null) ?? this.#entries.find(entry => this.#isFresh(entry, nowMs))
  }

  /** The earliest candidate among those with an open breaker, or among the others. */
  #soonest (nowMs: number, isOpen: boolean): Entry<C> | undefined {
    let best: Entry<C> | undefined
    for (const entry of this.#entries) {
      if (entry.isOut || (this.#stateOf(entry, nowMs) === 'open') !== isOpen) continue
      if (best === undefined || entry.notBeforeMs < best.notBeforeMs) best = entry
    }
    return best
  }

  #backoffMs (tries: number): number {
    const { limits, random } = this.#options
    return Math.min(limits.backoffMs * 2 ** (tries - 1), maxBackoffMs) * (0.5 + random() / 2)
  }
}
