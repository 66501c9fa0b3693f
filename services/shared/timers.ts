import { setTimeout as sleep } from 'node:timers/promises'

/** A member of an `ActiveSet`, which owns `slot`. */
export interface ActiveMember { slot: number }

/**
 * A set for members that come and go with every request. Not a `Set`: when a set grows, V8 links its old
 * table to the new one, which keeps all former members alive until a full garbage collection.
 */
export class ActiveSet<Member extends ActiveMember> {
  readonly #members: Member[] = []

  get size (): number {
    return this.#members.length
  }

  add (member: Member): void {
    member.slot = this.#members.push(member) - 1
  }

  /** Does nothing for an object that is not a member. */
  delete (member: Member): void {
    if (this.#members[member.slot] !== member) return
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    this.#members[member.slot] = last
    last.slot = member.slot
  }

  /** Calls `visit` with each member, which it may delete. */
  forEach (visit: (member: Member) => void): void {
    for (const member of this.#members.slice()) visit(member)
  }
}

/** Timers as a dependency, so that tests can simulate time. */
export interface Timers {
  /**
   * Calls `work` once after `delayMs`; for 0, in the next turn of the event loop. Returns a function that
   * cancels the call.
   */
  after (delayMs: number, work: () => void): () => void
  /** Does not keep the process alive. */
  inBackground (delayMs: number, work: () => void): () => void
}

/** Node's timers. */
export const realTimers: Timers = {
  after (delayMs, work) {
    if (delayMs === 0) {
      const immediate = setImmediate(work)
      return () => clearImmediate(immediate)
    }
    const timer = setTimeout(work, delayMs)
    return () => clearTimeout(timer)
  },

  inBackground (delayMs, work) {
    const timer = setTimeout(work, delayMs).unref()
    return () => clearTimeout(timer)
  }
}

/** Longest run of work before it yields to the event loop. */
const togetherMs = 5
let waiting: (() => void)[] = []

/**
 * Calls `work` at the end of this turn of the event loop, after its other events. A step then runs for one
 * request after the other, with its code in the processor's caches; docs/performance.md has the figures.
 */
export function atEndOfTurn (work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(runTogether)
}

function runTogether (): void {
  const endMs = performance.now() + togetherMs
  let count = 0
  try {
    while (count < waiting.length && performance.now() < endMs) waiting[count++]?.()
  } finally {
    waiting = waiting.slice(count)
    if (waiting.length > 0) setImmediate(runTogether)
  }
}

/** Interval at which a null interval is read again. */
const idleMs = 5000

interface PeriodicOptions {
  /** The delay of the first run; the interval by default. */
  firstMs?: number
  timers?: Pick<Timers, 'inBackground'>
}

/** Periodic work. */
export interface Periodic {
  /** Stops further runs; resolves when the current one has ended. */
  stop (): Promise<void>
}

/**
 * Repeats `work`, each time `intervalMs` after the end of the last run; a null interval is read again later.
 * `onError` receives its errors. Does not keep the process alive.
 */
export function periodically (
  intervalMs: () => number | null,
  work: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
  { firstMs, timers = realTimers }: PeriodicOptions = {}
): Periodic {
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let cancel = (): void => {}

  function schedule (ms = intervalMs()): void {
    if (stopping.signal.aborted) return
    cancel = timers.inBackground(ms ?? idleMs, () => {
      running = ms === null ? Promise.resolve() : work(stopping.signal).catch(onError)
      running.finally(schedule)
    })
  }

  schedule(firstMs)
  return {
    async stop () {
      stopping.abort()
      cancel()
      await running
    }
  }
}

/**
 * Calls `work` until it succeeds. After each failure, `pauseMs` returns the wait before the next attempt; if
 * it throws, so does `retry`. `attempts` counts from 1.
 */
export async function retry<T> (
  work: () => T | Promise<T>, pauseMs: (error: unknown, attempts: number) => number
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await work()
    } catch (error) {
      await sleep(pauseMs(error, attempts))
    }
  }
}

/** Something with a deadline on the clock of `Deadlines`; `dueMs` may be moved at any time. */
export interface Watched extends ActiveMember { dueMs: number, onDeadline (): void }

/**
 * One coarse timer for all running calls: moving a deadline is an assignment, so that a stream pays nothing
 * per chunk for its idle timeout. Fires at most one period late; no timer runs while nothing is watched.
 */
export class Deadlines {
  readonly #periodMs: number
  readonly #watched = new ActiveSet<Watched>()
  #timer: NodeJS.Timeout | undefined
  #nowMs = 0

  constructor (periodMs = 50) {
    this.#periodMs = periodMs
  }

  /** Milliseconds of a monotonic clock, as of the last tick. */
  get nowMs (): number {
    return this.#nowMs
  }

  add (watched: Watched): void {
    this.#watched.add(watched)
    if (this.#timer === undefined) {
      this.#nowMs = performance.now()
      this.#timer = setInterval(() => this.#tick(), this.#periodMs)
    }
  }

  delete (watched: Watched): void {
    this.#watched.delete(watched)
  }

  /** Number of watched calls; zero when idle, unless there is a leak. */
  get size (): number {
    return this.#watched.size
  }

  #tick (): void {
    this.#nowMs = performance.now()
    this.#watched.forEach(watched => {
      if (watched.dueMs > this.#nowMs) return
      this.#watched.delete(watched)
      watched.onDeadline()
    })
    // Stopped only after an idle tick: a timer per request would cost more than a tick per period.
    if (this.#watched.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}
