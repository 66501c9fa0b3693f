import type { JsonObject } from '../shared/json.ts'
import { createVideoClient } from './video-jobs/client.ts'
import { readErrorDetail, objectField } from './video-jobs/errors.ts'
import {
  aspectRatioFor, commonAspectRatios, frameUrl, refuseLastFrame, refuseRatio, refuseOption, resolutionFor,
  sizeAmong, withoutNulls
} from './video-jobs/fields.ts'
import type { VideoChoices, VideoProvider, VideoTask } from './provider-video.ts'
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

/**
 * Wan at Alibaba's Model Studio. Only queued tasks can be cancelled; a result's address is good for 24 hours.
 * Source: npm @ai-sdk/alibaba 2.0.58 and PyPI dashscope 2.0.2, 24 Nov 2026.
 */
export function createWanVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { codes })
  return createVideoProvider(client, {
    choices: model => ({ seconds: 5, size: '1280x720', sound: soundOf(model) }),
    submit: task => ({
      path: '/services/aigc/video-generation/video-synthesis',
      headers: { 'x-dashscope-async': 'enable' },
      body: bodyOf(task)
    }),
    jobId: response => objectField(response, 'output').task_id,
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
    read (result) {
      const output = objectField(result, 'output')
      const usage = objectField(result, 'usage')
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

/** Up to 2.7, the name of a model says whether it makes videos of texts or of pictures. */
function bodyOf (task: VideoTask): JsonObject {
  const { model, firstFrame } = task
  if (firstFrame !== null && model.includes('-t2v')) refuseOption('messages', 'takes no pictures')
  if (firstFrame === null && model.includes('-i2v')) refuseOption('messages', 'needs a picture')
  return { model, ...(isLegacy(model) ? legacyBody(task) : body(task)) }
}

/** Models up to 2.6 take one image or, without it, a size in pixels. */
const isLegacy = (model: string): boolean => /^wan(x?2\.[0-6]|x)/.test(model)

/** The field `audio` is that of 2.6 with pictures, and of 3; from 2.5 on, all others have sound. */
function soundOf (model: string): VideoChoices['sound'] {
  if (/^wan(x|2\.[0-4])/.test(model)) return 'never'
  return /^wan(2\.6-(i2v|r2v)|[3-9])/.test(model) ? 'stated' : 'always'
}

const audioOf = ({ model, audio }: VideoTask): boolean | null => soundOf(model) === 'stated' ? audio : null

const legacySizes = [
  '832*480', '480*832', '624*624', '1280*720', '720*1280', '960*960', '1088*832', '832*1088', '1920*1080',
  '1080*1920', '1440*1440', '1632*1248', '1248*1632'
]

function legacyBody (task: VideoTask): JsonObject {
  refuseLastFrame(task)
  const { prompt, firstFrame, seconds, seed } = task
  if (firstFrame !== null) refuseRatio(task)
  const sizeFields = firstFrame === null
    ? { size: sizeAmong(task, legacySizes) }
    : { resolution: resolutionFor(task, ['480P', '720P', '1080P']) }
  return {
    input: withoutNulls({ prompt: prompt || null, img_url: frameUrl(firstFrame) }),
    parameters: withoutNulls({ ...sizeFields, duration: seconds, seed, audio: audioOf(task) })
  }
}

function body (task: VideoTask): JsonObject {
  const { prompt, firstFrame, lastFrame, seconds, seed, model } = task
  const media = [
    firstFrame && { type: 'first_frame', url: frameUrl(firstFrame) },
    lastFrame && { type: 'last_frame', url: frameUrl(lastFrame) }
  ].filter(item => item !== null)
  return {
    input: withoutNulls({ prompt: prompt || null, media: media.length === 0 ? null : media }),
    parameters: withoutNulls({
      resolution: resolutionFor(task, model.startsWith('wan2.7') ? ['720P', '1080P'] : ['480P', '720P', '1080P']),
      ratio: model.includes('-i2v') ? refuseRatio(task) : aspectRatioFor(task, commonAspectRatios.slice(0, 5)),
      duration: seconds,
      seed,
      audio: audioOf(task)
    })
  }
}
