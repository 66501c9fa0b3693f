import type { ChatCompletion } from '../../schemas/openai/chat-completions.ts'
import type { VideoSettings } from '../config/catalogue/types.ts'
import { toGatewayError } from '../http/to-gateway-error.ts'
import type { MediaStore } from '../media/media.ts'
import type { LongPoll } from '../requests/long-poll.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import { GatewayError } from '../shared/errors.ts'
import { usdFromNano, usdText } from '../shared/money.ts'
import { headerText } from '../shared/shown-text.ts'
import { videoExpired } from './content.ts'
import type { Job, JobFailure, JobVideo } from './job.ts'

/** A video and an address that a client can open. */
export interface Shown { video: JobVideo, url: string }

interface ReplyContext {
  media: Pick<MediaStore, 'get' | 'url'>
  settings (): Pick<VideoSettings, 'content'>
  /** Where the client reaches the API. */
  baseUrl: string
  record: RequestRecord
}

/** Replies to a client that waited for a job, now that it has ended: with its videos or its failure. */
export async function replyVideo (
  job: Job, poll: LongPoll, { media, settings, baseUrl, record }: ReplyContext
): Promise<void> {
  const { provider = null, model: upstreamModel = null } = job.candidates[job.candidate] ?? {}
  // A repeated request reports the original price; it is not charged again.
  Object.assign(record, { provider, upstreamModel, costNano: job.delivered ? 0 : job.costNano })
  if (job.failure !== null) return poll.fail(errorOf(job.failure, job.id))
  let shown: Shown[]
  try {
    shown = await Promise.all(job.videos.map(async video => {
      return { video, url: await urlOf(video, baseUrl, media) }
    }))
  } catch (error) {
    return poll.fail(toGatewayError(error))
  }
  poll.succeed(completionOf(job, shown, settings().content), {
    ...jobHeaders(job), 'x-tollgate-cost': usdText(job.costNano ?? 0)
  })
}

async function urlOf (
  { media: id, url }: JobVideo, baseUrl: string, media: ReplyContext['media']
): Promise<string> {
  const stored = id === null ? undefined : await media.get(id)
  if (stored !== undefined) return media.url(stored, baseUrl)
  if (url !== null) return url
  throw videoExpired()
}

/** The completion of a succeeded job: one address a line in `content`, and the details in `videos`. */
export function completionOf (
  job: Job, shown: readonly Shown[], content: VideoSettings['content']
): ChatCompletion {
  const lines = shown.map(({ url }) => written[content](url))
  return {
    ...headOf(job),
    choices: [{
      index: 0,
      finish_reason: 'stop',
      logprobs: null,
      message: {
        role: 'assistant',
        content: lines.join('\n'),
        refusal: null,
        videos: shown.map(one => toVideo(job, one))
      }
    }],
    usage: usageOf(job.costNano ?? 0)
  }
}

/** The completion for a failure after 200 was sent; it is valid, because clients parse any 200 as one. */
export function failureOf (
  job: Pick<Job, 'id' | 'model' | 'createdAt'>, failure: JobFailure
): ChatCompletion {
  const { message, type, param, code, status } = failure
  const isModerated = status === 400 && (code === 'content_policy_violation' || code === 'moderation_blocked')
  return {
    ...headOf(job),
    choices: [{
      index: 0,
      finish_reason: isModerated ? 'content_filter' : 'stop',
      logprobs: null,
      message: { role: 'assistant', content: '', refusal: message }
    }],
    usage: usageOf(0),
    error: { message, type, param, code },
    job_id: job.id
  }
}

/** 504: the job continues, but the long poll has reached its limit. */
export function stillRunning (id: string): GatewayError {
  return GatewayError.badGateway(
    `The video is not ready yet. Send the same request again to keep waiting for it (job ${id}).`,
    // OpenAI's SDKs retry at once, and join the running job.
    { status: 504, code: 'still_running', headers: { 'x-should-retry': 'true', 'retry-after-ms': '200' } })
}

/**
 * The failure of a job as a response with its status, before 200 was sent. Every repeated request gets the
 * same.
 */
export function errorOf ({ status, type, message, param, code }: JobFailure, jobId: string): GatewayError {
  return new GatewayError(status, type, message,
    { param, code, headers: { 'x-should-retry': 'false', 'x-tollgate-job-id': jobId } })
}

function headOf ({ id, model, createdAt }: Pick<Job, 'id' | 'model' | 'createdAt'>) {
  return {
    id: `chatcmpl-${id}`, object: 'chat.completion' as const, created: Math.floor(createdAt / 1000), model
  }
}

/** A video has no tokens. */
function usageOf (costNano: number) {
  return { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: usdFromNano(costNano) }
}

function toVideo ({ id }: Job, { url, video }: Shown) {
  return {
    type: 'video_url' as const,
    video_url: { url },
    mime_type: video.mime,
    duration_seconds: video.seconds,
    width: video.width,
    height: video.height,
    expires_at: video.expiresAt === null ? null : Math.floor(video.expiresAt / 1000),
    job_id: id,
    ...(video.media === null ? { stored: false } : {})
  }
}

const written: Readonly<Record<VideoSettings['content'], (url: string) => string>> = {
  url: url => url,
  markdown: url => `[video](${url})`,
  html: url => `<video src="${url.replaceAll('&', '&amp;')}" controls></video>`
}

/** The headers of a response about a job. */
export function jobHeaders ({ id, model, candidates, candidate }: Job): Record<string, string> {
  const { provider = '', model: upstreamModel = '' } = candidates[candidate] ?? {}
  return {
    'x-tollgate-job-id': id,
    'x-tollgate-model': headerText(model),
    'x-tollgate-provider': headerText(provider),
    'x-tollgate-upstream-model': headerText(upstreamModel)
  }
}
