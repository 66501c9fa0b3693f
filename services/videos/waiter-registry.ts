import type { Timers } from '../shared/timers.ts'
import type { Job } from './job.ts'
import type { JobRows } from './rows.ts'

/** Called once, when the job has ended. */
export type Waiter = (job: Job) => void

/** The clients that wait on this node, whoever works on their jobs. */
export interface Waiters {
  add (id: string, waiter: Waiter): void
  /** Returns whether others wait for the same job. */
  remove (id: string, waiter: Waiter): boolean
  ended (job: Job): void
  readonly size: number
  stop (): void
}

interface WaitersOptions {
  rows: Pick<JobRows, 'finished'>
  timers: Timers
  watchMs: number
  /** Whether this node works on a job, and so hears of its end by itself. */
  owns (id: string): boolean
  onError (error: unknown): void
}

/**
 * Creates the list of waiting clients. For all jobs that other nodes work on there is one question a second
 * to the database; none while there is no such job.
 */
export function createWaiters ({ rows, timers, watchMs, owns, onError }: WaitersOptions): Waiters {
  const waiting = new Map<string, Waiter[]>()
  let size = 0
  let stopped = false
  let cancel: (() => void) | null = null

  function watch (): void {
    if (cancel === null && !stopped && waiting.size > 0) cancel = timers.inBackground(watchMs, look)
  }

  function look (): void {
    const foreign = [...waiting.keys()].filter(id => !owns(id))
    const found = foreign.length === 0 ? Promise.resolve([]) : rows.finished(foreign)
    found.then(jobs => jobs.forEach(ended), onError).finally(() => {
      cancel = null
      watch()
    })
  }

  function ended (job: Job): void {
    const all = waiting.get(job.id)
    if (all === undefined) return
    waiting.delete(job.id)
    size -= all.length
    for (const waiter of all) waiter(job)
  }

  return {
    add (id, waiter) {
      waiting.set(id, [...waiting.get(id) ?? [], waiter])
      size++
      watch()
    },
    remove (id, waiter) {
      const all = waiting.get(id)
      if (all === undefined || !all.includes(waiter)) return all !== undefined
      const others = all.filter(one => one !== waiter)
      size--
      if (others.length === 0) waiting.delete(id)
      else waiting.set(id, others)
      return others.length > 0
    },
    ended,
    get size () { return size },
    stop () {
      stopped = true
      cancel?.()
    }
  }
}
