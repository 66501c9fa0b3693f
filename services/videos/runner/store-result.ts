import { copyFaultOf, type CopyFault } from '../../media/copy-fault.ts'
import type { DownloadOptions, MediaStore, StoredMedia } from '../../media/media.ts'
import type { VideoFile } from '../../providers/provider-video.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { backoff, type Next, type RunnerContext } from './runner-context.ts'
import { endJob, notStored, resultLost, resultTooLarge, type End } from './end-job.ts'
import type { CopyError, Job, JobVideo, LiveJob, ResultCopy } from '../job.ts'
import { readMp4 } from './read-mp4.ts'
import { retryWrite } from './retry-write.ts'

/** Consecutive attempts that find a dead address; each one gets the address from the provider again. */
const maxDead = 5
const maxVideoBytes = 4 * 1024 ** 3

/**
 * Copies the videos, whose addresses expire within minutes or need the provider's key, and ends the job. What
 * fails is tried again until the job's deadline; the video is charged only when it is stored, or when a
 * public address of the provider that works is passed on because the gateway cannot store it.
 */
export async function storeResult (
  context: RunnerContext, live: LiveJob, made: ResultCopy['made']
): Promise<Next> {
  if (live.state !== 'storing' && !await beginStoring(context, live)) return 'lost'
  const job = await context.rows.get(live.id)
  if (job === undefined) return 'lost'
  const copy = copyOf(live, made)
  const works = made.videos.map(async (_, index) => await store(context, job, copy, index))
  const outcomes = await Promise.allSettled(works)
  const errors = outcomes.flatMap(one => one.status === 'rejected' ? [one.reason] : [])
  if (errors.length === 0) {
    const videos = outcomes.flatMap(one => one.status === 'fulfilled' ? [one.value] : [])
    return await endJob(context, live, videos.length === 0 ? resultLost : success(copy, videos))
  }
  if (context.closing.aborted) return { after: 0 }
  return await onFailure(context, live, copy, { job, outcomes, errors })
}

/** Gives a result that comes late some time to be stored. */
async function beginStoring (context: RunnerContext, live: LiveJob): Promise<boolean> {
  const { rows, store, timing } = context
  const polledAt = store.clock()
  const deadlineAt = Math.max(live.deadlineAt, polledAt + timing.storeMs)
  const change = { state: 'storing' as const, deadlineAt, polledAt }
  if (!await retryWrite(context, live.id, () => rows.change(live, change))) return false
  Object.assign(live, { state: 'storing', deadlineAt, failures: 0 })
  return true
}

function copyOf (live: LiveJob, made: ResultCopy['made']): ResultCopy {
  const { files = [], dead = 0 } = live.copy ?? {}
  const isSame = files.length === made.videos.length
  if (!isSame) discardCopy(live)
  const empty = () => ({ received: null, stored: null })
  live.copy = { made, dead, files: isSame ? files : made.videos.map(empty) }
  return live.copy
}

/** Whether a copy needs nothing more of the provider. */
export function isReceived (copy: ResultCopy | null): copy is ResultCopy {
  return copy !== null && copy.files.every(({ received, stored }) => received !== null || stored !== null)
}

/** Deletes the files that were received and not stored. */
export function discardCopy (live: LiveJob): void {
  for (const { received } of live.copy?.files ?? []) received?.discard().catch(() => {})
  live.copy = null
}

interface Attempt {
  job: Job
  outcomes: readonly PromiseSettledResult<JobVideo>[]
  errors: readonly unknown[]
}

async function onFailure (
  context: RunnerContext, live: LiveJob, copy: ResultCopy, { job, outcomes, errors }: Attempt
): Promise<Next> {
  const { store, timing, log, rows } = context
  const faults = new Set(errors.map(copyFaultOf))
  const isOurs = !faults.has('dead') && !faults.has('lagging')
  copy.dead = faults.has('dead') ? copy.dead + 1 : 0
  live.failures += 1
  const fault = isOurs ? 'media_store' : 'provider'
  const since = job.copyError?.since ?? store.clock()
  const copyError: CopyError = { fault, message: reasonOf(errors[0]), attempts: live.failures, since }
  const level = faults.has('store') ? 'error' : 'warn'
  log[level]({ job: live.id, err: errors[0], fault, attempt: live.failures }, 'a video could not be copied')
  context.onCopyFailure?.(fault)
  const leftMs = live.deadlineAt - store.clock()
  if (faults.has('too large') || copy.dead >= maxDead || leftMs <= 0) {
    const end = await lastResort(context, job, copy, { outcomes, isOurs })
    return await endJob(context, live, end ?? endFor(faults))
  }
  if (!await retryWrite(context, live.id, () => rows.change(live, { copyError }))) return 'lost'
  return { after: Math.min(backoff(timing, live.failures), leftMs) }
}

const maxReason = 500

function reasonOf (error: unknown): string {
  const { cause = error } = error instanceof UpstreamError ? {} : error instanceof Error ? error : {}
  return (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).slice(0, maxReason)
}

function endFor (faults: ReadonlySet<CopyFault>): End {
  if (faults.has('dead') || faults.has('lagging')) return resultLost
  return faults.has('too large') ? resultTooLarge : notStored
}

/** A success with the provider's addresses; null if one does not work, needs the key, or is at fault. */
async function lastResort (
  context: RunnerContext, job: Job, copy: ResultCopy, { outcomes, isOurs }: Pick<Attempt, 'outcomes'> & { isOurs: boolean }
): Promise<End | null> {
  if (!isOurs) return null
  const videos: JobVideo[] = []
  for (const [index, outcome] of outcomes.entries()) {
    const file = copy.made.videos[index]
    if (outcome.status === 'fulfilled') videos.push(outcome.value)
    else if (file === undefined || !('url' in file) || !await isAlive(context, job, file.url)) return null
    else videos.push({ ...unmeasured, url: file.url })
  }
  return success(copy, videos)
}

const unmeasured = { media: null, mime: 'video/mp4', seconds: null, width: null, height: null, expiresAt: null }

/** Whether a client can download from an address now. */
async function isAlive (context: RunnerContext, job: Job, url: string): Promise<boolean> {
  if (!url.startsWith('https:')) return false
  const done = new AbortController()
  try {
    const signal = AbortSignal.any([done.signal, signalOf(context)])
    for await (const chunk of await context.download(url, downloadOptions(job, signal, Infinity))) {
      if (chunk.length > 0) return true
    }
    return false
  } catch {
    return false
  } finally {
    done.abort()
  }
}

function success ({ made }: ResultCopy, videos: readonly JobVideo[]): End {
  const measured = videos.map(({ seconds }) => seconds)
  const known = measured.every(seconds => seconds !== null)
  const seconds = made.seconds ?? (known ? measured.reduce<number>((sum, one) => sum + (one ?? 0), 0) : null)
  return { state: 'succeeded', videos, seconds, providerCostNano: made.costNano }
}

async function store (context: RunnerContext, job: Job, copy: ResultCopy, index: number): Promise<JobVideo> {
  const { files: { [index]: slot }, made: { videos: { [index]: file } } } = copy
  if (slot === undefined || file === undefined) throw new Error('The result has no such video.')
  const signal = signalOf(context)
  if (slot.stored === null) {
    slot.received ??= await receive(context, job, file, signal)
    slot.stored = await slot.received.store(signal)
    slot.received = null
  }
  const { stored } = slot
  const { seconds, width, height } = await measure(context.media, stored)
  const requested = job.task.isSizeAsked ? job.task.size : null
  return {
    media: stored.id,
    url: null,
    mime: stored.mime,
    seconds,
    width: width ?? stored.width ?? requested?.width ?? null,
    height: height ?? stored.height ?? requested?.height ?? null,
    expiresAt: stored.expiresAt
  }
}

async function receive ({ media, download }: RunnerContext, job: Job, file: VideoFile, signal: AbortSignal) {
  const failed = new AbortController()
  const whole = AbortSignal.any([signal, failed.signal])
  async function open (file: VideoFile) {
    if ('bytes' in file) return file.bytes
    return 'url' in file ? await download(file.url, downloadOptions(job, whole, maxVideoBytes)) : await file.open(whole)
  }
  try {
    const body = await open(file)
    return await media.receive(body, {
      kind: 'video', account: job.account, job: job.id, maxBytes: maxVideoBytes, signal: whole
    })
  } catch (error) {
    // Closes a connection whose body was not read.
    failed.abort()
    throw error
  }
}

function downloadOptions (
  { candidates, candidate }: Job, signal: AbortSignal, maxBytes: number
): DownloadOptions {
  const provider = candidates[candidate]?.provider
  return { signal, maxBytes, ...(provider !== undefined && { provider }) }
}

function signalOf ({ closing, timing }: RunnerContext): AbortSignal {
  return AbortSignal.any([closing, AbortSignal.timeout(timing.copyMs)])
}

async function measure (media: MediaStore, stored: StoredMedia) {
  return await readMp4(stored.bytes, async (start, end) => {
    const pieces: Uint8Array[] = []
    for await (const piece of await media.read(stored, { start, end })) pieces.push(piece)
    return Buffer.concat(pieces)
  })
}
