import type { JsonObject } from '../shared/json.ts'
import { createVideoClient } from './video-jobs/client.ts'
import { readErrorDetail, objectField } from './video-jobs/errors.ts'
import { aspectRatioFor, withoutNulls, frameUrl, resolutionFor, formatVideoSize, commonAspectRatios } from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

const codes = {
  InvalidApiKey: 'auth',
  Arrearage: 'quota',
  Throttling: 'rate',
  'Throttling.RateQuota': 'rate',
  'Throttling.AllocationQuota': 'rate',
  ModelNotFound: 'not_found'
} as const

/** Wan at Alibaba's Model Studio. Only queued tasks can be cancelled. Source: npm @ai-sdk/alibaba 2. */
export function createWanVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { codes })
  return createVideoProvider(client, {
    submit: task => ({
      path: '/services/aigc/video-generation/video-synthesis',
      headers: { 'x-dashscope-async': 'enable' },
      body: { model: task.model, ...(isLegacy(task.model) ? legacyBody(task) : body(task)) }
    }),
    jobId: answer => objectField(answer, 'output').task_id,
    pollPath: handle => `/tasks/${handle}`,
    states: {
      PENDING: 'queued',
      RUNNING: 'running',
      SUSPENDED: 'running',
      SUCCEEDED: 'succeeded',
      FAILED: 'failed',
      CANCELED: 'cancelled',
      // The task is older than a day, or never existed.
      UNKNOWN: 'failed'
    },
    read (answer) {
      const output = objectField(answer, 'output')
      const usage = objectField(answer, 'usage')
      return {
        status: output.task_status,
        urls: output.video_url,
        seconds: usage.output_video_duration ?? usage.video_duration ?? usage.duration,
        error: readErrorDetail(output)
      }
    },
    cancel: handle => ({ method: 'POST', path: `/tasks/${handle}/cancel` })
  })
}

/** Models up to 2.6 take one image or, without it, a size in pixels. */
const isLegacy = (model: string): boolean => /^wan(x?2\.[0-6]|x)/.test(model)

function legacyBody (task: VideoTask): JsonObject {
  const { prompt, firstFrame, seconds, seed, audio } = task
  const sizeFields = firstFrame === null
    ? { size: formatVideoSize(task, '*') }
    : { resolution: resolutionFor(task, ['480P', '720P', '1080P']) }
  return {
    input: withoutNulls({ prompt, img_url: frameUrl(firstFrame) }),
    parameters: withoutNulls({ ...sizeFields, duration: seconds, seed, audio })
  }
}

function body (task: VideoTask): JsonObject {
  const { prompt, firstFrame, lastFrame, seconds, seed, audio, model } = task
  const media = [
    firstFrame && { type: 'first_frame', url: frameUrl(firstFrame) },
    lastFrame && { type: 'last_frame', url: frameUrl(lastFrame) }
  ].filter(item => item !== null)
  return {
    input: withoutNulls({ prompt, media: media.length === 0 ? null : media }),
    parameters: withoutNulls({
      resolution: resolutionFor(task, model.startsWith('wan2.7') ? ['720P', '1080P'] : ['480P', '720P', '1080P']),
      ratio: aspectRatioFor(task, commonAspectRatios.slice(0, 5)),
      duration: seconds,
      seed,
      // 2.7 always generates audio and has no such parameter.
      audio: model.startsWith('wan2.7') ? null : audio
    })
  }
}
