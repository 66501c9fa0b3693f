import { createVideoClient } from './video-jobs/client.ts'
import { textOrNull } from './video-jobs/errors.ts'
import {
  aspectRatioFor, commonAspectRatios, frameHttpUrl, refuseOption, refuseRatio, refuseSeed, resolutionFor,
  secondsAmong, withoutNulls
} from './video-jobs/fields.ts'
import { isObject } from '../shared/json.ts'
import type { FrameImage, VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

/** Source: PyPI luma-agents 0.5.0, types/generation_failure_code.py. */
const codes = {
  content_moderated: 'moderated',
  budget_exhausted: 'quota',
  image_too_large: 'bad_request',
  unsupported_format: 'bad_request',
  corrupt_input: 'bad_request',
  invalid_request: 'bad_request',
  rate_limited: 'rate'
} as const

/**
 * Luma's Agents API, which serves Ray 3.2. It has no cancellation, and a result's address is good for an
 * hour. Source: PyPI luma-agents 0.5.0, resources/generations.py and types/video_options_param.py; ratios,
 * and 5 seconds with a picture: docs.comfy.org, luma_2/ray-3-2 and LumaRay32ImageToVideoNode, 28 Nov 2026.
 */
export function createLumaAgentsVideos (upstream: Upstream): VideoProvider {
  return createVideoProvider(createVideoClient(upstream, { codes }), {
    frameFormat: 'url',
    choices: () => ({ seconds: 5, size: '1280x720', sound: 'never' }),
    submit: task => ({ path: '/generations', body: bodyOf(task) }),
    pollPath: handle => `/generations/${handle}`,
    states: { queued: 'queued', processing: 'running', completed: 'succeeded', failed: 'failed' },
    read: ({ state, output, failure_code: code, failure_reason: reason }) => ({
      status: state,
      urls: (Array.isArray(output) ? output : []).filter(isObject).filter(({ type }) => type === 'video')
        .map(({ url }) => url),
      error: { code: textOrNull(code), message: textOrNull(reason) }
    })
  })
}

function bodyOf (task: VideoTask) {
  refuseSeed(task)
  if (task.prompt === '') refuseOption('messages', 'needs a prompt')
  const hasFrame = task.firstFrame !== null || task.lastFrame !== null
  const image = (frame: FrameImage | null) => frame && { url: frameHttpUrl(frame) }
  return withoutNulls({
    model: task.model,
    type: 'video',
    prompt: task.prompt,
    aspect_ratio: hasFrame ? refuseRatio(task) : aspectRatioFor(task, commonAspectRatios),
    video: withoutNulls({
      resolution: resolutionFor(task, ['360p', '540p', '720p', '1080p']),
      duration: `${secondsAmong(task, hasFrame ? [5] : [5, 10])}s`,
      start_frame: image(task.firstFrame),
      end_frame: image(task.lastFrame)
    })
  })
}
