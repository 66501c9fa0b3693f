import type { VideoObject } from '../../../schemas/openai/videos.ts'
import { usdFromNano } from '../../shared/money.ts'
import type { Job, JobState } from '../../videos/job.ts'
import { videoFieldOf } from './to-chat-request.ts'

/** A job as the client of `/v1/videos` sees it. */
export function toVideoObject (job: Job): VideoObject {
  const { task: { prompt, seconds, size }, failure, videos, finishedAt } = job
  return {
    id: job.id,
    object: 'video',
    status: statusOf[job.state],
    progress: Math.min(100, Math.max(0, Math.floor(job.progress ?? 0))),
    model: job.model,
    prompt: prompt === '' ? null : prompt,
    seconds: String(seconds),
    size: `${size.width}x${size.height}`,
    created_at: toSeconds(job.createdAt),
    completed_at: finishedAt === null ? null : toSeconds(finishedAt),
    expires_at: videos[0]?.expiresAt == null ? null : toSeconds(videos[0].expiresAt),
    error: failure === null ? null : errorOf(failure),
    remixed_from_video_id: null,
    usage: job.costNano === null ? null : { cost: usdFromNano(job.costNano) }
  }
}

const statusOf: Readonly<Record<JobState, VideoObject['status']>> = {
  submitting: 'queued',
  queued: 'queued',
  running: 'in_progress',
  storing: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed'
}

function errorOf ({ code, message, param, type }: NonNullable<Job['failure']>): NonNullable<VideoObject['error']> {
  return { code: code ?? 'video_failed', message, param: param === null ? null : videoFieldOf(param), type }
}

const toSeconds = (ms: number): number => Math.floor(ms / 1000)
