import { ActiveSet, type ActiveMember } from './active-set.ts'

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
      this.#timer = setInterval(() => this.#tick(), this.#periodMs).unref()
    }
  }

  delete (watched: Watched): void {
    this.#watched.delete(watched)
  }

  /** How many calls are being watched; zero when nothing has leaked. */
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
