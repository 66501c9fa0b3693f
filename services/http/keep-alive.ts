import { Deadlines, type Watched } from '../shared/timers.ts'

/** How long a streamed request may wait for its first bytes, and then for the next ones. */
const firstMs = 10_000
const nextMs = 15_000

const deadlines = new Deadlines(250)

/** Calls `send` whenever a stream has had nothing to write for long, until `stop` is called. */
export class KeepAlive implements Watched {
  slot = -1
  dueMs = performance.now() + firstMs
  readonly #send: () => void

  constructor (send: () => void) {
    this.#send = send
    deadlines.add(this)
  }

  /** Call on every write. */
  written (): void {
    this.dueMs = deadlines.nowMs + nextMs
  }

  onDeadline (): void {
    this.#send()
    this.written()
    deadlines.add(this)
  }

  stop (): void {
    deadlines.delete(this)
  }
}
