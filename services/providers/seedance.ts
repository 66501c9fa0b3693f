import type { JsonObject } from '../shared/json.ts'
import { createVideoClient } from './video-jobs/client.ts'
import { readErrorDetail, objectField } from './video-jobs/errors.ts'
import {
  aspectRatioFor, commonAspectRatios, contentParts, refuseLastFrame, resolutionFor, withoutNulls
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

const codes = {
  AuthenticationError: 'auth', AccountOverdueError: 'quota', ModelNotOpen: 'not_found', ServerOverloaded: 'overloaded'
} as const

/**
 * Seedance at BytePlus or Volcengine. A result's address is good for 24 hours. Source: PyPI
 * byteplus-python-sdk-v2 3.0.63, `content_generation`, and npm @ai-sdk/bytedance 1.0.29, 24 Nov 2026.
 */
export function createSeedanceVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { codes })
  const tasks = '/contents/generations/tasks'
  return createVideoProvider(client, {
    choices: model => ({
      seconds: 5,
      size: /-1-0-pro/.test(model) ? '1920x1080' : '1280x720',
      sound: isSilent(model) ? 'never' : 'stated'
    }),
    submit: task => ({ path: tasks, body: bodyOf(task) }),
    pollPath: handle => `${tasks}/${handle}`,
    read: response => ({
      // An error without a status is an error of the poll, not of the task.
      status: response.status,
      urls: objectField(response, 'content').video_url,
      seconds: response.duration,
      error: readErrorDetail(response.error)
    }),
    cancel: handle => ({ method: 'DELETE', path: `${tasks}/${handle}` })
  })
}

function bodyOf (task: VideoTask): JsonObject {
  const { model } = task
  if (model.includes('-1-0-pro-fast')) refuseLastFrame(task)
  return withoutNulls({
    model,
    content: contentParts(task),
    ratio: aspectRatioFor(task, commonAspectRatios),
    resolution: resolutionFor(task, model.includes('-2-0-fast') ? ['480p', '720p'] : ['480p', '720p', '1080p']),
    duration: task.seconds,
    seed: task.seed,
    generate_audio: isSilent(model) ? null : task.audio,
    // `flex` is half the price and takes hours; drafts are cheaper, in 480p.
    service_tier: 'default',
    draft: model.includes('seedance-1-5') ? false : null,
    watermark: false
  })
}

const isSilent = (model: string): boolean => model.includes('seedance-1-0')
