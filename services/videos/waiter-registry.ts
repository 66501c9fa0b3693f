import type { Timers } from '../shared/timers.ts'
import type { Job } from './job.ts'
import type { JobRows } from './rows.ts'

/** Called once, when the job has ended. */
export type Waiter = (job: Job) => void

/** The clients that wait on this node, whichever node runs their jobs. */
export interface WaiterRegistry {
  add (id: string, waiter: Waiter): void
  /** Returns whether others wait for the same job. */
  remove (id: string, waiter: Waiter): boolean
  ended (job: Job): void
  readonly size: number
  stop (): void
}

interface WaiterRegistryOptions {
  rows: Pick<JobRows, 'finished'>
  timers: Timers
  watchMs: number
  /** Whether this node runs a job, and so learns of its end without asking. */
  owns (id: string): boolean
  onError (error: unknown): void
}

/** Creates the registry. It polls the database once per `watchMs` for all jobs that run on other nodes. */
export function createWaiterRegistry (
  { rows, timers, watchMs, owns, onError }: WaiterRegistryOptions
): WaiterRegistry {
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
