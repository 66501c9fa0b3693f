import type { LiveJob } from '../job.ts'
import { createDueQueue } from './due-queue.ts'
import { createPollLanes } from './poll-lanes.ts'

const longestTimerMs = 60_000

interface StepScheduleOptions {
  pollsPerSecond: () => number
  /** Begins the step of a job, whose next one is set when it has ended. */
  begin (live: LiveJob): void
}

/**
 * Creates the schedule of the next steps of a node's jobs. All stand in one queue by their time, with one
 * timer for the first; those that are due for a poll wait for their turn at their provider.
 *
 *     set ──▶ queued by time ── due ──▶ in the lane of its provider ── its turn ──▶ begin
 *                                └── submitting or cancelled, which is no poll ──────▶ begin
 */
export function createStepSchedule ({ pollsPerSecond, begin }: StepScheduleOptions) {
  const due = createDueQueue<LiveJob>()
  const lanes = createPollLanes<LiveJob>(pollsPerSecond, begin)
  let isStopped = false
  let timer: { atMs: number, timeout: NodeJS.Timeout } | null = null

  function startTimer (): void {
    const atMs = due.nextMs
    if (isStopped || atMs === Infinity || (timer !== null && timer.atMs <= atMs)) return
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
    startTimer()
  }

  return {
    /** Sets the time of the next step of a job, on the clock of `performance.now()`. */
    set (live: LiveJob, atMs: number): void {
      due.set(live, atMs)
      startTimer()
    },
    delete (live: LiveJob): void {
      due.delete(live)
      lanes.delete(live)
    },
    /** Slows down the polls at the provider of a job, which has refused one as one too many. */
    refuse (live: LiveJob): void { lanes.refuse(laneOf(live)) },
    /** Begins nothing more. */
    stop (): void {
      isStopped = true
      clearTimeout(timer?.timeout)
      lanes.stop()
    }
  }
}

const laneOf = ({ candidates, candidate }: LiveJob): string => candidates[candidate]?.provider ?? ''
