import type { Log } from '../shared/log.ts'
import { periodically, realTimers, type Timers } from '../shared/timers.ts'

interface ClockOptions {
  /** Reads the time of the server, in ms since 1970. */
  readServerMs (): Promise<number>
  log: Log
  /** This machine's clock, and a monotonic one. */
  machine?: () => number
  monotonic?: () => number
  timers?: Timers
}

/** This process's estimate of the server's clock. */
export interface PostgresClock {
  read: () => number
  stop (): Promise<void>
}

const measureEveryMs = 10_000
/** A larger difference shows in logs, certificates and signed requests. */
const maxDifferenceMs = 5_000

/**
 * Measures the server's clock now and every ten seconds, and extrapolates it by the monotonic clock in
 * between: reading it needs no query, and this machine's clock may be wrong. Its error is at most half a
 * round trip.
 */
export async function startPostgresClock (options: ClockOptions): Promise<PostgresClock> {
  const { readServerMs, log, machine = Date.now, timers = realTimers } = options
  const { monotonic = () => performance.now() } = options
  let aheadMs = 0
  let isWarned = false

  async function measure (): Promise<void> {
    const startedMs = monotonic()
    const serverMs = await readServerMs()
    aheadMs = serverMs - (startedMs + monotonic()) / 2
    const differenceMs = Math.round(machine() - read())
    const isWrong = Math.abs(differenceMs) > maxDifferenceMs
    if (isWrong && !isWarned) log.warn({ differenceMs }, 'the clock of this machine differs from that of the database')
    isWarned = isWrong
  }

  const read = () => Math.floor(monotonic() + aheadMs)
  await measure()
  // While the server is away, the last measurement remains valid.
  const measuring = periodically(() => measureEveryMs, measure, () => {}, { timers })
  return { read, stop: () => measuring.stop() }
}
