import { StoreUnavailable } from '../../store/store.ts'
import { backoff, providerOf, type Next, type RunnerContext } from './runner-context.ts'
import { findDueEnd } from './find-due-end.ts'
import { createDueQueue } from './due-queue.ts'
import { endJob } from './end-job.ts'
import { isLive, toLive, type Job, type LiveJob } from '../job.ts'
import { pollJob } from './poll-job.ts'
import { createPollLanes } from './poll-lanes.ts'
import { discardCopy } from './store-result.ts'
import { submitJob } from './submit-job.ts'

export type Runner = ReturnType<typeof createRunner>

/** How long a fenced node waits before it checks again. */
const fencedPauseMs = 1_000
const longestTimerMs = 60_000

/**
 * Creates the runner of this node's jobs. All stand in one queue by the time of their next step, with one
 * timer for the first; those that are due for a poll wait for their turn at their provider. Only changes of
 * state are written to the database. Nothing is done while `isFenced`, when other nodes may have taken the
 * jobs over.
 *
 *     submitting ── accepted ──▶ queued ──▶ running ──▶ storing ──▶ succeeded
 *       │    ▲                     └──────────┴──────────┴──▶ failed
 *     maybe  │ certainly not there
 *       ▼    │
 *     in doubt ── found ──▶ queued
 *
 * `findDueEnd` decides before each step, in every state, whether the job ends as cancelled, expired or failed
 * instead; a step returns only when the next one is due. `submitting` and in doubt share a count of tries.
 */
export function createRunner (context: RunnerContext, isFenced: () => boolean, onEnd: (job: Job) => void) {
  const { log, timing } = context
  const jobs = new Map<string, LiveJob>()
  const due = createDueQueue<LiveJob>()
  const busy = new Map<LiveJob, Promise<void>>()
  const lanes = createPollLanes<LiveJob>(() => context.settings().pollsPerSecond, begin)
  let stopped = false
  let timer: { atMs: number, timeout: NodeJS.Timeout } | null = null

  function plan (): void {
    const atMs = due.nextMs
    if (stopped || atMs === Infinity || (timer !== null && timer.atMs <= atMs)) return
    clearTimeout(timer?.timeout)
    const delayMs = Math.min(longestTimerMs, Math.max(0, Math.ceil(atMs - performance.now())))
    timer = { atMs, timeout: setTimeout(run, delayMs).unref() }
  }

  function run (): void {
    timer = null
    const nowMs = performance.now()
    for (let live = due.take(nowMs); live !== undefined; live = due.take(nowMs)) {
      if (live.state === 'submitting' || live.cancel) begin(live)
      else lanes.add(laneOf(live), live)
    }
    plan()
  }

  function begin (live: LiveJob): void {
    if (isFenced()) {
      due.set(live, performance.now() + fencedPauseMs)
      return plan()
    }
    const work = step(live).catch(error => {
      if (!(error instanceof StoreUnavailable)) log.error({ job: live.id, err: error }, 'a step of a job failed')
      live.failures += 1
      return { after: backoff(timing, live.failures) }
    }).then(next => {
      busy.delete(live)
      advance(live, next)
    })
    busy.set(live, work)
  }

  async function step (live: LiveJob): Promise<Next> {
    const provider = providerOf(context, live)
    const end = await findDueEnd(context, live, provider)
    if (end !== null) return await endJob(context, live, end)
    if (live.state === 'submitting') return await submitJob(context, live, provider)
    return await pollJob(context, live, provider)
  }

  function forget (live: LiveJob): void {
    jobs.delete(live.id)
    discardCopy(live)
  }

  function drop (live: LiveJob): void {
    due.delete(live)
    lanes.delete(live)
  }

  /** Brings the next step of a job forward, once: to now, or to the end of its current step. */
  function hasten (live: LiveJob): void {
    const now = (): void => {
      if (jobs.get(live.id) !== live) return
      drop(live)
      due.set(live, performance.now())
      plan()
    }
    const current = busy.get(live)
    if (current === undefined) now()
    else current.then(now)
  }

  function advance (live: LiveJob, next: Next): void {
    if (next === 'lost') {
      forget(live)
    } else if ('ended' in next) {
      forget(live)
      onEnd(next.ended)
    } else if (jobs.has(live.id)) {
      if (next.isTooMany === true) lanes.refuse(laneOf(live))
      due.set(live, performance.now() + next.after)
      plan()
    }
  }

  return {
    /** Adds a job that this node owns. `isNew`: it was inserted just now. */
    add (job: Job, isNew = false): void {
      if (!isLive(job.state)) return
      const live = toLive(job, job.state, isNew)
      if (stopped) {
        undoIntent(context, live)
        return
      }
      const before = jobs.get(live.id)
      if (before !== undefined) {
        drop(before)
        discardCopy(before)
      }
      jobs.set(live.id, live)
      due.set(live, performance.now())
      plan()
    },
    owns: (id: string): boolean => jobs.has(id),
    /** Cancels jobs as soon as possible. */
    cancel (ids: readonly string[]): void {
      for (const id of ids) {
        const live = jobs.get(id)
        if (live === undefined || live.cancel) continue
        live.cancel = true
        hasten(live)
      }
    },
    /** Notes that clients have deleted jobs, which are given up at the next step that can. */
    abandon (ids: readonly string[]): void {
      for (const id of ids) {
        const live = jobs.get(id)
        if (live === undefined || live.isDeleted) continue
        live.isDeleted = true
        hasten(live)
      }
    },
    get size (): number { return jobs.size },
    /** The submitted jobs that are between two steps. */
    submitted (): string[] {
      const isSubmitted = ({ state }: LiveJob) => state === 'queued' || state === 'running'
      return [...jobs.values()].filter(live => isSubmitted(live) && !busy.has(live)).map(({ id }) => id)
    },
    /** Removes jobs that this node no longer owns. */
    forget (ids: readonly string[]): void {
      for (const id of ids) {
        const live = jobs.get(id)
        if (live !== undefined) drop(live)
        jobs.delete(id)
      }
    },
    /** Starts nothing more; waits up to `maxMs` for submits in progress. */
    async stop (maxMs: number): Promise<void> {
      stopped = true
      clearTimeout(timer?.timeout)
      lanes.stop()
      const submits = [...busy].filter(([{ state }]) => state === 'submitting').map(([, work]) => work)
      const waiting = [...jobs.values()].filter(live => live.state === 'submitting' && !busy.has(live))
      submits.push(...waiting.map(live => undoIntent(context, live)))
      await endsWithin(submits, maxMs)
    },
    /** Waits up to `maxMs` for the current steps, and drops what they have not finished. */
    async idle (maxMs: number): Promise<void> {
      await endsWithin([...busy.values()], maxMs)
      for (const live of jobs.values()) discardCopy(live)
    }
  }
}

const laneOf = ({ candidates, candidate }: LiveJob): string => candidates[candidate]?.provider ?? ''

async function endsWithin (works: readonly Promise<void>[], maxMs: number): Promise<void> {
  const limit = Promise.withResolvers<void>()
  const timeout = setTimeout(limit.resolve, maxMs)
  await Promise.race([Promise.all(works), limit.promise])
  clearTimeout(timeout)
}

/** Records that the job was not sent, for the node that adopts it. */
async function undoIntent ({ rows, log }: RunnerContext, live: LiveJob): Promise<void> {
  if (!live.isIntended) return
  await rows.change(live, { attempts: 0 }).catch(err => {
    log.warn({ job: live.id, err }, 'the intent to submit a job could not be undone')
  })
}
