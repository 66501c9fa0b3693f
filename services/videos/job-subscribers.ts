import type { Job } from './job.ts'
import type { JobRows } from './rows.ts'

export type JobSubscribers = ReturnType<typeof createJobSubscribers>

/** Resolves with its job once that has ended; with null if its client leaves before. */
type Subscriber = PromiseWithResolvers<Job | null>

/**
 * Creates the registry of what waits on this node for jobs to end, whichever node runs them.
 *
 *     wait ──▶ waiting ── `ended`: the runner of this node has ended the job ──▶ resolved with the job
 *                 ├────── `look`: the database has it as ended ────────────────▶ resolved with the job
 *                 └────── `closed`: its client has left ───────────────────────▶ resolved with null
 *
 * `look` runs once per `watchMs` while anything waits, for all jobs that this node does not own.
 */
export function createJobSubscribers (
  rows: Pick<JobRows, 'finished'>, watchMs: number, owns: (id: string) => boolean, onError: (error: unknown) => void
) {
  const waiting = new Map<string, Set<Subscriber>>()
  let isStopped = false
  let timer: NodeJS.Timeout | null = null

  function watch (): void {
    if (timer === null && !isStopped && waiting.size > 0) timer = setTimeout(look, watchMs).unref()
  }

  /** Never rejects. */
  async function look (): Promise<void> {
    const foreign = [...waiting.keys()].filter(id => !owns(id))
    try {
      if (foreign.length > 0) for (const job of await rows.finished(foreign)) ended(job)
    } catch (error) {
      onError(error)
    }
    timer = null
    watch()
  }

  function ended (job: Job): void {
    for (const subscriber of waiting.get(job.id) ?? []) subscriber.resolve(job)
    waiting.delete(job.id)
  }

  return {
    /** Waits until a job has ended; resolves with null if `closed` resolves before. */
    async wait (id: string, closed: Promise<void>): Promise<Job | null> {
      const subscriber: Subscriber = Promise.withResolvers()
      const same = waiting.get(id) ?? new Set()
      waiting.set(id, same.add(subscriber))
      watch()
      closed.then(() => {
        same.delete(subscriber)
        if (same.size === 0 && waiting.get(id) === same) waiting.delete(id)
        subscriber.resolve(null)
      })
      return await subscriber.promise
    },
    /** Call when a job has ended on this node. */
    ended,
    stop (): void {
      isStopped = true
      clearTimeout(timer ?? undefined)
    }
  }
}
