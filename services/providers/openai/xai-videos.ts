import { createVideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField } from '../video-jobs/errors.ts'
import {
  aspectRatioFor, frameUrl, refuseLastFrame, refuseSeed, resolutionFor, withoutNulls
} from '../video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'
import { reportedCost } from '../reported-cost.ts'

const nanoPerTick = 0.1
const ratios = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3']

/**
 * xAI's `/videos/generations`; a running job answers 202 with an empty body. A result's address is good for
 * 24 hours. Source: npm @ai-sdk/xai 5.0.12 and PyPI xai-sdk 1.21.0, 24 Nov 2026.
 */
export function createXaiVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream)
  return createVideoProvider(client, {
    choices: () => ({ seconds: 6, size: '854x480', sound: 'stated' }),
    submit: task => ({ path: '/videos/generations', body: bodyOf(task) }),
    jobId: response => response.request_id,
    pollPath: handle => `/videos/${handle}`,
    states: { pending: 'running', done: 'succeeded', failed: 'failed', expired: 'failed', moderated: 'failed' },
    read (result) {
      const { progress, error } = result
      const { url, duration, respect_moderation: isClean } = objectField(result, 'video')
      const ticks = objectField(result, 'usage').cost_in_usd_ticks
      return {
        // Some responses with a finished video have no status.
        status: isClean === false ? 'moderated' : result.status ?? (url === undefined ? 'pending' : 'done'),
        progress,
        urls: url,
        seconds: duration,
        costNano: reportedCost(ticks, nanoPerTick),
        error: isClean === false
          ? { code: 'moderation_blocked', message: 'The video was blocked by the provider\'s moderation.' }
          : readErrorDetail(error)
      }
    }
  })
}

function bodyOf (task: VideoTask) {
  refuseSeed(task)
  if (task.model !== 'grok-imagine-video-1.5') refuseLastFrame(task)
  return withoutNulls({
    model: task.model,
    prompt: task.prompt || null,
    duration: task.seconds,
    aspect_ratio: aspectRatioFor(task, ratios),
    resolution: resolutionFor(task, ['480p', '720p', '1080p']),
    generate_audio: task.audio,
    image: task.firstFrame && { url: frameUrl(task.firstFrame) },
    last_frame: task.lastFrame && { url: frameUrl(task.lastFrame) }
  })
}
