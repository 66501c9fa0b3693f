import type { RequestsConfig } from '../config/catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import { Deadlines, type Watched } from '../shared/timers.ts'
import type { Exchange } from './exchange.ts'

/** The deadline of a request. */
export interface Deadline {
  /** On the clock of `performance.now()`. */
  readonly dueMs: number
  /** The time from its arrival to the deadline. */
  readonly limitMs: number
}

const deadlines = new Deadlines()

/**
 * Ends a request with 504 at its deadline, the earlier of the client's and the operator's, unless `stop` is
 * called. A stream that has begun has a later deadline of the operator.
 */
export class RequestDeadline implements Deadline, Watched {
  slot = -1
  dueMs: number
  limitMs: number
  readonly #exchange: Pick<Exchange<unknown>, 'giveUp' | 'deadlineMs'>
  readonly #streamMs: number
  #error = GatewayError.deadlineExceeded

  constructor (
    exchange: Pick<Exchange<unknown>, 'giveUp' | 'deadlineMs'>,
    { deadlineMs, streamMs }: Pick<RequestsConfig, 'deadlineMs' | 'streamMs'>
  ) {
    this.#exchange = exchange
    this.#streamMs = streamMs
    this.limitMs = Math.min(exchange.deadlineMs ?? Infinity, deadlineMs)
    this.dueMs = performance.now() + this.limitMs
    deadlines.add(this)
  }

  /** Call on the first event of a stream. */
  streamBegan (): void {
    const arrivedMs = this.dueMs - this.limitMs
    this.limitMs = Math.min(this.#exchange.deadlineMs ?? Infinity, this.#streamMs)
    this.dueMs = arrivedMs + this.limitMs
    this.#error = GatewayError.streamDeadlineExceeded
  }

  onDeadline (): void {
    this.#exchange.giveUp(this.#error(this.limitMs))
  }

  stop (): void {
    deadlines.delete(this)
  }
}
