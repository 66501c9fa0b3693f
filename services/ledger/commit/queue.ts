import { StoreUnavailable } from '../../store/store.ts'
import type { Posting } from '../ledger.ts'
import type { Batch, OpenHold, Take } from '../types.ts'
import type { LedgerOptions } from '../options.ts'
import type { Timers } from '../../shared/timers.ts'

/** What waits to be written, and when it is. */
export interface Queue {
  /** Settlements that are not known to be on disk. */
  readonly unflushed: number
  /** Reservations that wait for the database. */
  readonly waiting: number
  /** Why nothing can be written for the moment; null while nothing is known against it. */
  readonly outage: StoreUnavailable | null
  /**
   * Ends a hold; without a posting, it is given back. Its time is that at which its batch was begun: earlier
   * by `flushMs` at most, or by what the batch before takes; after a failure its own. Resolves when it is on
   * disk, however long the database is away; rejects when it never can be.
   */
  settle (hold: OpenHold, posting: Posting | null): Promise<void>
  take (take: Take): void
  /** Has something written that is in memory, without an own part in a batch. */
  touch (): void
  /** Resolves when all that waits is on disk. Throws StoreUnavailable when the next attempt fails. */
  flush (): Promise<void>
  /** Waits for the batch under way; nothing is written after it. */
  stop (): Promise<void>
}

interface QueueContext {
  /**
   * Writes a batch, taking out of it what is done. Throws StoreUnavailable when the rest has to be tried
   * again, another error when some of it never can be written.
   */
  write (batch: Batch): Promise<void>
  options: LedgerOptions
  timers: Timers
  clock: () => number
  /** Hears what kept a batch from being written. */
  onOutage (outage: StoreUnavailable): void
}

interface Page extends Batch {
  /** The time of its settlements, in milliseconds since 1970; null once it has waited for the database. */
  at: number | null
  /** How many settlements it was given. */
  size: number
  /** Settled when the page is through. */
  readonly done: PromiseWithResolvers<void>
  /** Settled with the next attempt to write it. */
  attempt: PromiseWithResolvers<void>
}

const firstPauseMs = 25
const maxPauseMs = 500

/**
 * Creates the queue in front of the database. One batch is under way at a time, and what comes meanwhile
 * makes up the next one. Reservations are written at once, since somebody waits; settlements alone are
 * collected for `flushMs`. When the database is away, settlements stay and are tried again; reservations are
 * refused.
 */
export function createQueue ({ write, options, timers, clock, onOutage }: QueueContext): Queue {
  const pages: Page[] = []
  let underWay: Page | null = null
  let draining: Promise<void> | null = null
  let stopped = false
  let hurried = false
  let touched = false
  let pauseMs = 0
  let timer: { delayMs: number, cancel: () => void } | null = null

  function openPage (): Page {
    const last = pages.at(-1)
    if (last !== undefined && !isFull(last)) return last
    const page = {
      at: clock(), settlements: [], takes: [], size: 0, done: newOutcome(), attempt: newOutcome()
    }
    pages.push(page)
    return page
  }

  const isFull = ({ size, takes }: Page) => size + takes.length >= options.batchSize
  const isUrgent = (page: Page) => page.takes.length > 0 || isFull(page)

  const isDue = () => pages.some(isUrgent) || (hurried && pages.length > 0)

  function wake (delayMs: number): void {
    // The time of the next attempt after a failure stands, whatever comes in meanwhile.
    if (underWay === null && queue.outage === null) wakeIn(delayMs)
  }

  function wakeIn (delayMs: number): void {
    if (stopped || (timer !== null && timer.delayMs <= delayMs)) return
    timer?.cancel()
    const begin = () => {
      timer = null
      draining ??= drain().finally(() => { draining = null })
    }
    timer = { delayMs, cancel: timers.after(delayMs, begin) }
  }

  /** Never rejects: what fails goes to those who wait for it. */
  async function drain (): Promise<void> {
    if (underWay !== null) return
    do {
      openPage()
      underWay = pages.shift() ?? null
      touched = false
      if (underWay !== null) await attempt(underWay)
      underWay = null
    } while (queue.outage === null && isDue())
    if (queue.outage !== null) return wakeIn(pauseMs)
    hurried = false
    if (pages.length > 0 || touched) wakeIn(options.flushMs)
  }

  async function attempt (page: Page): Promise<void> {
    try {
      await write(page)
      page.done.resolve()
      page.attempt.resolve()
    } catch (error) {
      if (error instanceof StoreUnavailable) return postpone(page, error)
      page.done.reject(error)
      page.attempt.reject(error)
    }
    queue.unflushed -= page.size
    queue.outage = null
    pauseMs = 0
  }

  function postpone (page: Page, outage: StoreUnavailable): void {
    pages.unshift(page)
    queue.outage = outage
    hurried = false
    pauseMs = Math.min(maxPauseMs, Math.max(firstPauseMs, pauseMs * 2))
    onOutage(outage)
    for (const each of pages) {
      each.at = null
      for (const take of each.takes.splice(0)) take.refused(outage)
      each.attempt.reject(outage)
      each.attempt = newOutcome()
    }
  }

  const queue = {
    unflushed: 0,
    outage: null as StoreUnavailable | null,

    get waiting () {
      return pages.reduce((sum, { takes }) => sum + takes.length, underWay?.takes.length ?? 0)
    },

    settle (hold: OpenHold, posting: Posting | null) {
      const page = openPage()
      const at = page.at ?? clock()
      page.settlements.push({ hold, number: numberFor(hold), posting, at, suspended: false })
      page.size++
      queue.unflushed++
      wake(isFull(page) ? 0 : options.flushMs)
      return page.done.promise
    },

    take (take: Take) {
      openPage().takes.push(take)
      wake(0)
    },

    touch () {
      touched = true
      wake(options.flushMs)
    },

    async flush () {
      if (stopped) return
      const last = pages.at(-1) ?? (touched ? openPage() : underWay)
      if (last === null) return
      const { promise } = last.attempt
      hurried = true
      if (underWay === null) wakeIn(0)
      await promise
    },

    async stop () {
      stopped = true
      timer?.cancel()
      await draining
    }
  }
  return queue
}

function numberFor ({ fresh, granted }: OpenHold): number {
  return fresh && granted !== null ? ++granted.term.numbered : 0
}

function newOutcome (): PromiseWithResolvers<void> {
  const outcome = Promise.withResolvers<void>()
  // Nobody has to wait for it; whoever does hears of a rejection nevertheless.
  outcome.promise.catch(() => {})
  return outcome
}
