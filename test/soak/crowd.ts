import { setTimeout as pause } from 'node:timers/promises'

/** Concurrent clients. */
export interface Crowd {
  /** How many wait for an answer. */
  readonly underWay: number
  /** Holds all clients back until the returned function is called. */
  hold (): () => void
  /** Resolves when the time is over and all requests are answered; rejects when `send` does. */
  readonly done: Promise<unknown>
}

interface CrowdOptions {
  clients: number
  /** Target rate of all clients together, in requests per second. */
  rate: number
  /** When they stop, on the clock of `performance.now()`. */
  untilMs: number
  send (): Promise<void>
}

/** Starts the clients. They do not catch up on time for which they were held back. */
export function startCrowd ({ clients, rate, untilMs, send }: CrowdOptions): Crowd {
  const startedMs = performance.now()
  let [sent, underWay, heldMs] = [0, 0, 0]
  let released: Promise<void> | null = null

  async function client (): Promise<void> {
    for (;;) {
      const atMs = startedMs + heldMs + sent++ * 1000 / rate
      await pause(Math.max(0, Math.min(atMs, untilMs) - performance.now()))
      await released
      if (performance.now() >= untilMs) return
      underWay++
      await send().finally(() => underWay--)
    }
  }

  return {
    get underWay () { return underWay },
    hold () {
      const { promise, resolve } = Promise.withResolvers<void>()
      const fromMs = performance.now()
      released = promise
      return () => {
        heldMs += performance.now() - fromMs
        released = null
        resolve()
      }
    },
    done: Promise.all(Array.from({ length: clients }, client))
  }
}
