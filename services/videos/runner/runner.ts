import { StoreUnavailable } from '../../store/store.ts'
import { backoff, providerOf, type Next, type RunnerContext } from './runner-context.ts'
import { findDueEnd } from './find-due-end.ts'
import { endJob } from './end-job.ts'
import { isLive, toLive, type Job, type LiveJob } from '../job.ts'
import { pollJob } from './poll-job.ts'
import { createStepSchedule } from './step-schedule.ts'
import { discardCopy } from './store-result.ts'
import { submitJob } from './submit-job.ts'

interface RunnerEvents {
  /** Whether other nodes may have taken the jobs over: then nothing is done. */
  isFenced (): boolean
  /** Receives each job that has ended on this node. */
  onEnd (job: Job): void
}

/** How long a fenced node waits before it checks again. */
const fencedPauseMs = 1_000

/**
 * Runs the jobs that this node owns, one step at a time each: it submits a job, polls its provider, stores
 * the video and settles. Only changes of state are written to the database, before the next step is due.
 *
 *     submitting ── sent ──▶ queued ── poll ──▶ running ── poll: made ──▶ storing ── stored ──▶ succeeded
 *       │    ▲                 ▲ └────────────────┴── poll: failed ─────────┴──▶ failed
 *  may have  │ certainly       │
 *  arrived   │ not there     found
 *       ▼    │                 │
 *     in doubt ── search ──────┘
 *
 * `submitJob` moves a job that is `submitting` or in doubt, which share a count of tries; `pollJob` moves one
 * that is `queued` or `running`; `storeResult` one that is `storing`. Before each step, in every state,
 * `findDueEnd` decides whether the job ends as cancelled, expired or failed instead. A job leaves this node
 * when it ends, when another node has taken it over, or when it is handed over.
 */
export class Runner {
  readonly #context: RunnerContext
  readonly #events: RunnerEvents
  readonly #jobs = new Map<string, LiveJob>()
  /** The steps that are being made. */
  readonly #steps = new Map<LiveJob, Promise<void>>()
  readonly #schedule: ReturnType<typeof createStepSchedule>
  #isStopped = false

  constructor (context: RunnerContext, events: RunnerEvents) {
    this.#context = context
    this.#events = events
    this.#schedule = createStepSchedule({
      pollsPerSecond: () => context.settings().pollsPerSecond,
      begin: live => this.#begin(live)
    })
  }

  get size (): number { return this.#jobs.size }

  owns (id: string): boolean { return this.#jobs.has(id) }

  /** Adds a job that this node owns. `isNew`: it was inserted just now. */
  add (job: Job, isNew = false): void {
    if (!isLive(job.state)) return
    const live = toLive(job, job.state, isNew)
    if (this.#isStopped) {
      undoIntent(this.#context, live)
      return
    }
    const before = this.#jobs.get(live.id)
    if (before !== undefined) {
      this.#schedule.delete(before)
      discardCopy(before)
    }
    this.#jobs.set(live.id, live)
    this.#schedule.set(live, performance.now())
  }

  /** Cancels jobs as soon as possible. */
  cancel (ids: readonly string[]): void {
    for (const live of this.#those(ids)) {
      if (live.cancel) continue
      live.cancel = true
      this.#hasten(live)
    }
  }

  /** Notes that clients have deleted jobs, which are given up at the next step that can. */
  abandon (ids: readonly string[]): void {
    for (const live of this.#those(ids)) {
      if (live.isDeleted) continue
      live.isDeleted = true
      this.#hasten(live)
    }
  }

  /** The submitted jobs that are between two steps. */
  submitted (): string[] {
    const isSubmitted = ({ state }: LiveJob): boolean => state === 'queued' || state === 'running'
    return this.#waiting().filter(isSubmitted).map(({ id }) => id)
  }

  /** Removes jobs that this node no longer owns. */
  forget (ids: readonly string[]): void {
    for (const live of this.#those(ids)) {
      this.#schedule.delete(live)
      this.#jobs.delete(live.id)
    }
  }

  /** Begins nothing more; waits up to `maxMs` for the submits that are being made. */
  async stop (maxMs: number): Promise<void> {
    this.#isStopped = true
    this.#schedule.stop()
    const submits = [...this.#steps].filter(([{ state }]) => state === 'submitting').map(([, step]) => step)
    const unsent = this.#waiting().filter(({ state }) => state === 'submitting')
    submits.push(...unsent.map(live => undoIntent(this.#context, live)))
    await endsWithin(submits, maxMs)
  }

  /** Waits up to `maxMs` for the current steps, and drops what they have not finished. */
  async idle (maxMs: number): Promise<void> {
    await endsWithin([...this.#steps.values()], maxMs)
    for (const live of this.#jobs.values()) discardCopy(live)
  }

  /** The jobs that are between two steps. */
  #waiting (): LiveJob[] {
    return [...this.#jobs.values()].filter(live => !this.#steps.has(live))
  }

  #those (ids: readonly string[]): LiveJob[] {
    return ids.flatMap(id => this.#jobs.get(id) ?? [])
  }

  #begin (live: LiveJob): void {
    if (this.#events.isFenced()) return this.#schedule.set(live, performance.now() + fencedPauseMs)
    this.#steps.set(live, this.#make(live))
  }

  /** Makes one step of a job and sets the time of the next. Never rejects. */
  async #make (live: LiveJob): Promise<void> {
    const next = await this.#step(live)
    this.#steps.delete(live)
    if (next === 'lost' || 'ended' in next) {
      this.#jobs.delete(live.id)
      discardCopy(live)
      if (next !== 'lost') this.#events.onEnd(next.ended)
    } else if (this.#jobs.has(live.id)) {
      if (next.isTooMany === true) this.#schedule.refuse(live)
      this.#schedule.set(live, performance.now() + next.after)
    }
  }

  async #step (live: LiveJob): Promise<Next> {
    const context = this.#context
    try {
      const provider = providerOf(context, live)
      const end = await findDueEnd(context, live, provider)
      if (end !== null) return await endJob(context, live, end)
      if (live.state === 'submitting') return await submitJob(context, live, provider)
      return await pollJob(context, live, provider)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) {
        context.log.error({ job: live.id, err: error }, 'a step of a job failed')
      }
      live.failures += 1
      return { after: backoff(context.timing, live.failures) }
    }
  }

  /** Brings the next step of a job forward, once: to now, or to the end of its current step. */
  async #hasten (live: LiveJob): Promise<void> {
    await this.#steps.get(live)
    if (this.#jobs.get(live.id) !== live) return
    this.#schedule.delete(live)
    this.#schedule.set(live, performance.now())
  }
}

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
