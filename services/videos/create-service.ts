import { GatewayError } from '../shared/errors.ts'
import { createJobHolds } from '../billing/ledger/hold/job-holds.ts'
import type { Ledger } from '../billing/ledger/ledger.ts'
import { createNodeLiveness } from '../billing/ledger/cluster/node-liveness.ts'
import type { Log } from '../shared/log.ts'
import type { Download, MediaStore } from '../media/media.ts'
import type { Network } from '../media/public-connector.ts'
import type { VideoSettings } from '../config/catalogue/types.ts'
import type { Catalogue } from '../requests/candidates.ts'
import type { CostWatch } from '../requests/cost-watch.ts'
import type { SecretBox } from '../store/secret-box.ts'
import type { Store } from '../store/store.ts'
import { createJobFinder } from './find-job.ts'
import { defaultTiming, type RunnerContext, type Timing } from './runner/runner-context.ts'
import { isLive, type FaultyParty, type Job } from './job.ts'
import { retryWrite } from './runner/retry-write.ts'
import { createJobRows } from './rows.ts'
import { createVideoLibrary } from './library.ts'
import { Runner } from './runner/runner.ts'
import type { Models } from '../models/models.ts'
import { createClientPresence } from '../requests/joins/client-presence.ts'
import { startMaintenance } from './runner/maintenance.ts'
import type { VideoExchange } from './plan-video.ts'
import { createVideos, type BegunJob } from './serve-video.ts'
import { startWebhookDelivery } from './webhooks/webhook-delivery.ts'
import { createJobSubscribers } from './job-subscribers.ts'

export type VideoService = Awaited<ReturnType<typeof createVideoService>>

interface VideoServiceOptions {
  store: Store
  secretBox: SecretBox
  ledger: Pick<Ledger, 'reserve' | 'forget' | 'node' | 'reportSuspended'>
  media: MediaStore
  download: Download
  models: Pick<Models, 'resolveVideos' | 'regionsOf'>
  catalogue: Catalogue
  settings (): VideoSettings
  log: Log
  /** Servers of webhooks that may be private or plain HTTP. */
  webhookOrigins?: readonly string[]
  /** What webhooks reach; the Internet by default. */
  webhookNetwork?: Network
  timing?: Partial<Timing>
  closeMs?: number
  /** Receives what providers report that a video has cost. */
  onReportedCost?: CostWatch
  /** Receives each attempt to copy a result that failed. */
  onCopyFailure?: (fault: FaultyParty) => void
  /** Receives each job that ended on this node. */
  onEnd?: (job: Job) => void
}

/** How long a closing node waits for submits, whose outcome no other node could learn, then for the rest. */
const defaultCloseMs = 10_000

/** Creates the use case, the runner and what they share, for one node: long because it only wires parts. */
export async function createVideoService (options: VideoServiceOptions) {
  const { store, ledger, ledger: { node }, settings, log } = options
  const { closeMs = defaultCloseMs, webhookOrigins = [] } = options
  const timing = { ...defaultTiming, ...options.timing }
  const closing = new AbortController()
  const takeoverMs = settings().takeoverAfterMs
  const clientPresence = createClientPresence({ kind: 'job', store, node, takeoverMs })
  const rows = createJobRows(store, node, clientPresence)
  const context: RunnerContext = {
    ...options,
    rows,
    holds: createJobHolds(store.engine),
    reportSuspended: ledger.reportSuspended,
    timing,
    closing: closing.signal,
    provider: id => options.catalogue.provider(id)?.videos
  }
  const onError = (err: unknown): void => log.error({ err }, 'a job could not be written')
  const runner = new Runner(context, {
    isFenced: () => maintenance.isFenced(),
    onEnd (job) {
      options.onEnd?.(job)
      jobSubscribers.ended(job)
    }
  })
  const jobSubscribers = createJobSubscribers(rows, timing.watchMs, id => runner.owns(id), onError)
  const lease = { leaseMs: takeoverMs, marginMs: 0 }
  const liveness = await createNodeLiveness(store, lease, () => performance.now())
  const maintenance = startMaintenance(context, { node, takeoverMs, liveness, runner, clientPresence })
  const findJob = createJobFinder({
    ...context,
    ledger,
    clientPresence,
    begin: job => runner.add(job, true),
    onDoubt (id) {
      retryWrite(context, id, () => rows.get(id))
        .then(job => { if (job !== undefined && isLive(job.state)) runner.add(job, true) }, onError)
    }
  })
  const shared = { rows, findJob, jobSubscribers, clientPresence, onError, closing: closing.signal }
  const videos = createVideos({ ...options, ...shared, webhookOrigins })
  const webhooks = startWebhookDelivery({
    store,
    secretBox: options.secretBox,
    log,
    trustedOrigins: webhookOrigins,
    everyMs: timing.webhookMs,
    network: options.webhookNetwork
  })
  let closed: Promise<void> | undefined

  async function closeOnce (): Promise<void> {
    videos.release()
    jobSubscribers.stop()
    await Promise.all([runner.stop(closeMs), maintenance.stop(), webhooks.close()])
    closing.abort(GatewayError.shuttingDown())
    await runner.idle(closeMs)
    await videos.idle()
    await rows.abandon()
  }

  function checkOpen (): void {
    if (closed !== undefined) throw GatewayError.shuttingDown()
  }

  return {
    library: createVideoLibrary(store),
    webhookCounts: webhooks.counts,
    async serve (exchange: VideoExchange): Promise<void> {
      checkOpen()
      await videos.serve(exchange)
    },
    async begin (exchange: VideoExchange): Promise<BegunJob> {
      checkOpen()
      return await videos.begin(exchange)
    },
    /** Leaves the jobs to other nodes, if there are any; long polls go on. */
    drain (): void { maintenance.drain().catch(onError) },
    get longPolls (): number { return videos.longPolls },
    get running (): number { return runner.size },
    /** Ends the long polls and hands the jobs over to other nodes. */
    async close (): Promise<void> {
      closed ??= closeOnce()
      await closed
    }
  }
}
