import { GatewayError } from '../shared/errors.ts'
import { createIds } from '../shared/ids.ts'
import { createJobHolds } from '../ledger/hold/job-holds.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { withDefaults } from '../ledger/options.ts'
import { createNodeLiveness } from '../ledger/cluster/node-liveness.ts'
import type { Log } from '../shared/log.ts'
import { realTimers } from '../shared/timers.ts'
import type { Download, MediaStore } from '../media/media.ts'
import type { VideoSettings } from '../catalogue/types.ts'
import type { Catalogue } from '../requests/candidates.ts'
import type { Store } from '../store/store.ts'
import { createJobFinder } from './find-job.ts'
import { defaultTiming, type RunnerContext, type Timing } from './runner/runner-context.ts'
import { isLive, type Job } from './job.ts'
import { retryWrite } from './runner/retry-write.ts'
import { createJobRows } from './rows.ts'
import { createRunner } from './runner/runner.ts'
import type { Models } from '../models/models.ts'
import { createWaiterIds } from './waiter-ids.ts'
import { startMaintenance } from './runner/maintenance.ts'
import { createVideos, type Videos } from './videos.ts'
import { createWaiterRegistry } from './waiter-registry.ts'

export interface VideoService extends Videos {
  /** Jobs that this node runs. */
  readonly running: number
  /** Ends the long polls and hands the jobs over to other nodes. */
  close (): Promise<void>
}

export interface VideoServiceOptions {
  store: Store
  ledger: Pick<Ledger, 'reserve' | 'forget' | 'node'>
  media: MediaStore
  download: Download
  models: Pick<Models, 'resolveVideos'>
  catalogue: Catalogue
  settings (): VideoSettings
  log: Log
  timing?: Partial<Timing>
  /** Receives each job that ended on this node. */
  onEnd?: (job: Job) => void
}

/** How long a closing node waits for submits, whose outcome nobody else could find out. */
const closeMs = 10_000

/** Creates the use case, the runner and what they share, for one node. */
export async function createVideoService (options: VideoServiceOptions): Promise<VideoService> {
  const { store, ledger, media, settings, log, catalogue } = options
  const timing = { ...defaultTiming, ...options.timing }
  const clocks = { clock: Date.now, monotonic: () => performance.now() }
  const closing = new AbortController()
  const waiterIds = createWaiterIds(ledger.node)
  const takeoverMs = settings().takeoverAfterMs
  const rows = createJobRows(store, ledger.node)
  const holds = createJobHolds(store.engine)
  const context: RunnerContext = {
    ...clocks,
    store,
    rows,
    holds,
    media,
    download: options.download,
    settings,
    timing,
    log,
    closing: closing.signal,
    provider: id => catalogue.provider(id)?.videos
  }
  const onError = (err: unknown): void => log.error({ err }, 'a job could not be written')
  const waiters = createWaiterRegistry({
    rows, timers: realTimers, watchMs: timing.watchMs, owns: id => runner.owns(id), onError
  })
  const runner = createRunner(context, {
    timers: realTimers,
    monotonic: clocks.monotonic,
    isFenced: () => upkeep.isFenced(),
    onEnd (job) {
      options.onEnd?.(job)
      waiters.ended(job)
    }
  })
  const liveness = await createNodeLiveness(
    store, withDefaults(store.engine, { leaseMs: takeoverMs, marginMs: 0, maxRequestMs: 0 }), clocks)
  const upkeep = startMaintenance(context, {
    ...clocks, node: ledger.node, takeoverMs, liveness, timers: realTimers, runner: () => runner
  })
  const jobFinder = createJobFinder({
    ...context,
    ledger,
    newId: createIds('job_'),
    takeoverMs: () => takeoverMs,
    waiterIds,
    begin: job => runner.add(job, true),
    onDoubt (id) {
      retryWrite(context, id, () => rows.get(id))
        .then(job => { if (job !== undefined && isLive(job.state)) runner.add(job, true) }, onError)
    }
  })
  const { clock } = clocks
  const videos = createVideos({ ...options, rows, jobFinder, waiters, waiterIds, clock, onError })
  let closed: Promise<void> | undefined

  async function close (): Promise<void> {
    videos.release()
    waiters.stop()
    await Promise.all([runner.stop(closeMs), upkeep.stop()])
    closing.abort(GatewayError.unavailable('The gateway is shutting down.'))
    await runner.idle()
    await videos.idle()
    await rows.abandon()
  }

  return {
    complete: async incoming => {
      if (closed !== undefined) throw GatewayError.unavailable('The gateway is shutting down.', { code: 'shutting_down' })
      await videos.complete(incoming)
    },
    release: videos.release,
    idle: videos.idle,
    get longPolls () { return videos.longPolls },
    get running () { return runner.size },
    close: async () => {
      closed ??= close()
      await closed
    }
  }
}
