import type { Job } from './job.ts'
import type { JobRows } from './rows.ts'

/** Called once, when the job has ended. */
type JobSubscriber = (job: Job) => void
export type JobSubscribers = ReturnType<typeof createJobSubscribers>

/**
 * Creates the registry of the clients that wait on this node, whichever node runs their jobs. It polls the
 * database once per `watchMs` for all jobs that this node does not own.
 */
export function createJobSubscribers (
  rows: JobRows, watchMs: number, owns: (id: string) => boolean, onError: (error: unknown) => void
) {
  const waiting = new Map<string, JobSubscriber[]>()
  let stopped = false
  let timer: NodeJS.Timeout | null = null

  function watch (): void {
    if (timer === null && !stopped && waiting.size > 0) timer = setTimeout(look, watchMs).unref()
  }

  function look (): void {
    const foreign = [...waiting.keys()].filter(id => !owns(id))
    const found = foreign.length === 0 ? Promise.resolve([]) : rows.finished(foreign)
    found.then(jobs => jobs.forEach(ended), onError).finally(() => {
      timer = null
      watch()
    })
  }

  function ended (job: Job): void {
    const all = waiting.get(job.id)
    if (all === undefined) return
    waiting.delete(job.id)
    for (const waiter of all) waiter(job)
  }

  return {
    add (id: string, waiter: JobSubscriber): void {
      waiting.set(id, [...waiting.get(id) ?? [], waiter])
      watch()
    },
    remove (id: string, waiter: JobSubscriber): void {
      const others = waiting.get(id)?.filter(one => one !== waiter) ?? []
      if (others.length === 0) waiting.delete(id)
      else waiting.set(id, others)
    },
    ended,
    stop (): void {
      stopped = true
      clearTimeout(timer ?? undefined)
    }
  }
}
