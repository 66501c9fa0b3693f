import { setTimeout as pause } from 'node:timers/promises'

/** Clients that send side by side. */
export interface Crowd {
  /** How many of them wait for an answer. */
  readonly underWay: number
  /** Nobody begins to send until the function returned is called. */
  hold (): () => void
  /** Resolves when the time is over and all have their answers; rejects when `send` does. */
  readonly done: Promise<unknown>
}

interface CrowdOptions {
  clients: number
  /** Requests a second in all, as far as the clients can. */
  rate: number
  /** When they stop, by `performance.now()`. */
  untilMs: number
  send (): Promise<void>
}

/** Starts the clients. The time during which they are held back is not made up for later. */
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
