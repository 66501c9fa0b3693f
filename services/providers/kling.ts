import type { JsonObject } from '../shared/json.ts'
import { objectField, textOrNull } from './video-jobs/errors.ts'
import {
  aspectRatioFor, frameUrlOrBase64, refuseRatio, refuseSeed, refuseOption, resolutionFor, secondsAmong,
  shapeOf, withoutNulls
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createKlingClient, submittedOnce } from './kling-client.ts'
import { createKlingTurboVideos } from './kling-turbo.ts'
import { byModel } from './video-jobs/by-model.ts'
import { createVideoProvider, readJobHandle, type VideoDialect } from './video-jobs/dialect.ts'
import { urlPart } from './url-part.ts'

/** Kling: 3.0 Turbo by its API of 2026, which has no version in its paths; all other models by `/v1`. */
export function createKlingVideos (upstream: Upstream): VideoProvider {
  const turbo = createKlingTurboVideos(upstream.at(upstream.baseUrl.replace(/\/v1$/, '')))
  return byModel(createV1Videos(upstream), turbo, { mark: 'tasks:', serves: model => model === 'kling-3.0-turbo' })
}

/**
 * Kling's `/v1`. Source: Kling AI API; vercel/ai, packages/klingai at 052b6d5, 24 Nov 2026; omni-video:
 * docs.comfy.org, kling/kling-v3-omni and kling-video-o1; `4k`: kling.ai/document-api/updates/api of 23 Apr
 * 2026; lengths and frames: its guides/capability-map/video, as copied in aself101/kling-api at 71eb8c9.
 */
function createV1Videos (upstream: Upstream): VideoProvider {
  const client = createKlingClient(upstream)
  return submittedOnce(createVideoProvider(client, dialect), async (task, signal) => {
    const response = await client.get(dialect.pollPath(handleOf(task.submitKey, task)), signal)
    return response && readJobHandle(response, task, dialect)
  })
}

const isOmni = (model: string): boolean => /-omni$|^kling-video-o1$/.test(model)

function actionOf ({ model, firstFrame, lastFrame }: VideoTask): string {
  if (isOmni(model)) return 'omni-video'
  return firstFrame === null && lastFrame === null ? 'text2video' : 'image2video'
}

function handleOf (id: string, task: VideoTask): string {
  return `${actionOf(task)}/${urlPart(id)}`
}

const modes = { '720p': 'std', '1080p': 'pro', '4k': '4k' } as const

/** The master models have no modes. */
function resolutionsOf (model: string): readonly (keyof typeof modes)[] {
  if (model === 'kling-v2-master') return ['720p']
  if (model.endsWith('-master')) return ['1080p']
  return model.startsWith('kling-v3') ? ['720p', '1080p', '4k'] : ['720p', '1080p']
}

/** Lengths in seconds; null: the provider decides. */
function lengthsOf (model: string): readonly number[] | null {
  if (model === 'kling-video-o1') return [5, 10]
  return model.startsWith('kling-v3') ? [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : null
}

const statesSound = (model: string): boolean => !/^kling-v(1|2-(master|1|5)|ideo-o1$)/.test(model)

const needsPicture = (model: string): boolean => /^kling-v(1-5|2-1)$/.test(model)

/** Sound as the model states it. Version 2.6 makes it in the mode `pro` only. */
function soundOf ({ model, audio }: VideoTask, mode: string): string | null {
  if (!statesSound(model)) return null
  if (audio && mode === 'std' && model === 'kling-v2-6') refuseOption('video.audio', 'makes sound in 1080p only')
  return audio ? 'on' : 'off'
}

const dialect: VideoDialect = {
  choices: model => ({
    seconds: 5,
    size: resolutionsOf(model)[0] === '1080p' ? '1920x1080' : '1280x720',
    sound: statesSound(model) ? 'stated' : 'never'
  }),
  submit (task) {
    refuseSeed(task)
    const resolutions = resolutionsOf(task.model)
    const mode = modes[resolutionFor(task, resolutions)]
    const lengths = lengthsOf(task.model)
    return {
      path: `/videos/${actionOf(task)}`,
      body: withoutNulls({
        model_name: task.model,
        prompt: task.prompt || null,
        mode: resolutions.length === 1 ? null : mode,
        duration: String(lengths === null ? task.seconds : secondsAmong(task, lengths)),
        sound: soundOf(task, mode),
        external_task_id: task.submitKey,
        ...(isOmni(task.model) ? omniFields(task) : pictureFields(task))
      })
    }
  },
  jobId: response => objectField(response, 'data').task_id,
  handle: handleOf,
  pollPath: handle => `/videos/${handle}`,
  states: { submitted: 'queued', processing: 'running', succeed: 'succeeded', failed: 'failed' },
  read (response) {
    const data = objectField(response, 'data')
    const { videos } = objectField(data, 'task_result')
    const [video = {}] = Array.isArray(videos) ? videos : []
    return {
      status: data.task_status,
      urls: video.url,
      seconds: video.duration,
      error: { code: null, message: textOrNull(data.task_status_msg) }
    }
  }
}

const ratios = ['16:9', '9:16', '1:1']

function pictureFields (task: VideoTask): JsonObject {
  const hasFrame = actionOf(task) === 'image2video'
  if (!hasFrame && needsPicture(task.model)) refuseOption('messages', 'needs a picture')
  return {
    image: frameUrlOrBase64(task.firstFrame),
    image_tail: frameUrlOrBase64(task.lastFrame),
    aspect_ratio: hasFrame ? refuseRatio(task) : aspectRatioFor(task, ratios)
  }
}

/** A ratio is required without a first frame. */
function omniFields (task: VideoTask): JsonObject {
  const { prompt, firstFrame, lastFrame } = task
  if (prompt === '') refuseOption('messages', 'needs a prompt')
  if (firstFrame === null) {
    if (lastFrame !== null) refuseOption('messages', 'needs a first frame')
    return { aspect_ratio: shapeOf(task, ratios) }
  }
  refuseRatio(task)
  const frames = [{ frame: firstFrame, type: 'first_frame' }, { frame: lastFrame, type: 'end_frame' }]
    .filter(({ frame }) => frame !== null)
  return { image_list: frames.map(({ frame, type }) => ({ image_url: frameUrlOrBase64(frame), type })) }
}
