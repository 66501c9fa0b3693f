import type { MediaStore, StoredMedia } from '../../media/media.ts'
import type { VideoFile, VideoState } from '../../providers/provider-video.ts'
import { backoff, type Next, type RunnerContext } from './runner-context.ts'
import { endJob, resultLost } from './end-job.ts'
import type { Job, JobVideo, LiveJob } from '../job.ts'
import { readMp4 } from './mp4.ts'
import { retryWrite } from './retry-write.ts'

const maxCopies = 5
const maxVideoBytes = 512 * 1024 * 1024

/**
 * Copies the videos, whose addresses expire within minutes or need the provider's key, and ends the job.
 * After several failures, public addresses are passed on.
 */
export async function storeResult (
  context: RunnerContext, live: LiveJob, made: Extract<VideoState, { state: 'succeeded' }>
): Promise<Next> {
  if (live.state !== 'storing') {
    if (!await retryWrite(context, live.id, () => context.rows.change(live, { state: 'storing' }))) return 'lost'
    live.state = 'storing'
  }
  const job = await context.rows.get(live.id)
  if (job === undefined) return 'lost'
  let videos: JobVideo[] | null
  try {
    const provider = live.candidates[live.candidate]?.provider
    videos = await Promise.all(made.videos.map(async file => await store(context, job, file, provider)))
  } catch (err) {
    if (context.closing.aborted) return { after: 0 }
    live.failures += 1
    context.log.warn({ job: live.id, err, attempt: live.failures }, 'a video could not be copied')
    if (live.failures < maxCopies) return { after: backoff(context.timing, live.failures) }
    videos = providerAddresses(made.videos)
  }
  if (videos === null || videos.length === 0) return await endJob(context, live, resultLost)
  const measured = videos.map(({ seconds }) => seconds)
  const known = measured.every(seconds => seconds !== null)
  const seconds = made.seconds ?? (known ? measured.reduce<number>((sum, one) => sum + (one ?? 0), 0) : null)
  return await endJob(context, live, { state: 'succeeded', videos, seconds, providerCostNano: made.costNano })
}

async function store (
  context: RunnerContext, job: Job, file: VideoFile, provider: string | undefined
): Promise<JobVideo> {
  const { media, download, closing, timing } = context
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timing.copyMs)])
  const limits = { signal, maxBytes: maxVideoBytes, ...(provider !== undefined && { provider }) }
  const body = 'url' in file ? await download(file.url, limits) : await file.open(signal)
  const stored = await media.put(body, { kind: 'video', account: job.account, job: job.id, maxBytes: maxVideoBytes })
  const { seconds, width, height } = await measure(media, stored)
  const asked = job.task.isSizeAsked ? job.task.size : null
  return {
    media: stored.id,
    url: null,
    mime: stored.mime,
    seconds,
    width: width ?? stored.width ?? asked?.width ?? null,
    height: height ?? stored.height ?? asked?.height ?? null,
    expiresAt: stored.expiresAt
  }
}

async function measure (media: MediaStore, stored: StoredMedia) {
  return await readMp4(stored.bytes, async (start, end) => {
    const pieces: Uint8Array[] = []
    for await (const piece of await media.read(stored, { start, end })) pieces.push(piece)
    return Buffer.concat(pieces)
  })
}

/** The provider's own addresses; null if one of them needs its key. */
function providerAddresses (files: readonly VideoFile[]): JobVideo[] | null {
  const videos = files.flatMap(file => 'url' in file && file.url.startsWith('https:')
    ? [{ media: null, url: file.url, mime: 'video/mp4', seconds: null, width: null, height: null, expiresAt: null }]
    : [])
  return videos.length === files.length ? videos : null
}
