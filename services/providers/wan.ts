import type { JsonObject } from '../shared/json.ts'
import { bearer, createVideoApi, type VideoUpstream } from './video-jobs/api.ts'
import { complaintIn, objectAt } from './video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureUrl, resolutionOf, sizeText, usualRatios } from './video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

const codes = {
  InvalidApiKey: 'auth',
  Arrearage: 'quota',
  Throttling: 'rate',
  'Throttling.RateQuota': 'rate',
  'Throttling.AllocationQuota': 'rate',
  ModelNotFound: 'not_found'
} as const

/**
 * Wan at Alibaba's Model Studio (DashScope). Only waiting tasks can be cancelled. Source: npm @ai-sdk/alibaba
 * 2.
 */
export function createWanVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, codes })
  return createVideoProvider(api, {
    codes,
    submit: task => ({
      path: '/services/aigc/video-generation/video-synthesis',
      headers: { 'x-dashscope-async': 'enable' },
      body: { model: task.model, ...(isOlder(task.model) ? olderBody(task) : body(task)) }
    }),
    idIn: answer => objectAt(answer, 'output').task_id,
    path: handle => `/tasks/${handle}`,
    states: {
      PENDING: 'queued',
      RUNNING: 'running',
      SUSPENDED: 'running',
      SUCCEEDED: 'succeeded',
      FAILED: 'failed',
      CANCELED: 'cancelled',
      // The task is older than a day, or never was.
      UNKNOWN: 'failed'
    },
    read (answer) {
      const output = objectAt(answer, 'output')
      const usage = objectAt(answer, 'usage')
      return {
        status: output.task_status,
        urls: output.video_url,
        seconds: usage.output_video_duration ?? usage.video_duration ?? usage.duration,
        complaint: complaintIn(output)
      }
    },
    cancel: handle => ({ method: 'POST', path: `/tasks/${handle}/cancel` })
  })
}

/** Up to 2.6 there is one picture and, without it, a size in pixels. */
const isOlder = (model: string): boolean => /^wan(x?2\.[0-6]|x)/.test(model)

function olderBody (task: VideoTask): JsonObject {
  const { prompt, firstFrame, seconds, seed, audio } = task
  const shape = firstFrame === null
    ? { size: sizeText(task, '*') }
    : { resolution: resolutionOf(task, ['480P', '720P', '1080P']) }
  return {
    input: defined({ prompt, img_url: pictureUrl(firstFrame) }),
    parameters: defined({ ...shape, duration: seconds, seed, audio })
  }
}

function body (task: VideoTask): JsonObject {
  const { prompt, firstFrame, lastFrame, seconds, seed, audio, model } = task
  const media = [
    firstFrame && { type: 'first_frame', url: pictureUrl(firstFrame) },
    lastFrame && { type: 'last_frame', url: pictureUrl(lastFrame) }
  ].filter(item => item !== null)
  return {
    input: defined({ prompt, media: media.length === 0 ? null : media }),
    parameters: defined({
      resolution: resolutionOf(task, model.startsWith('wan2.7') ? ['720P', '1080P'] : ['480P', '720P', '1080P']),
      ratio: aspectRatioOf(task, usualRatios.slice(0, 5)),
      duration: seconds,
      seed,
      // 2.7 always makes sound and knows no such parameter.
      audio: model.startsWith('wan2.7') ? null : audio
    })
  }
}
