import type { RunnerContext } from './runner-context.ts'
import type { Runner } from './runner.ts'

/** Jobs that are written by one statement. */
const batch = 500

/**
 * Creates the hand-over of a draining node: it leaves its jobs without an owner while there is another node,
 * which adopts them. That one may be draining too, so jobs without an owner after `graceMs` are taken back
 * and kept.
 */
export function createHandOver (
  { rows, log }: Pick<RunnerContext, 'rows' | 'log'>,
  runner: Pick<Runner, 'add' | 'forget' | 'submitted'>,
  graceMs: number
) {
  const leftMs = new Map<string, number>()
  const kept = new Set<string>()

  async function leave (): Promise<void> {
    const all = runner.submitted().filter(id => !kept.has(id))
    for (let first = 0; first < all.length; first += batch) {
      const left = await rows.handOver(all.slice(first, first + batch))
      runner.forget(left)
      for (const id of left) leftMs.set(id, performance.now())
      if (left.length > 0) log.info({ jobs: left.length }, 'jobs were handed over')
    }
  }

  async function takeBack (): Promise<void> {
    const beforeMs = performance.now() - graceMs
    const due = [...leftMs].flatMap(([id, atMs]) => atMs < beforeMs ? [id] : [])
    if (due.length === 0) return
    const jobs = await rows.takeBack(due)
    for (const id of due) leftMs.delete(id)
    for (const job of jobs) {
      kept.add(job.id)
      runner.add(job)
    }
    if (jobs.length > 0) log.warn({ jobs: jobs.length }, 'no other node has taken jobs over')
  }

  /** Throws StoreUnavailable. */
  return async function handOver (): Promise<void> {
    await takeBack()
    await leave()
  }
}
