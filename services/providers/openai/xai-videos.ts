import { bearer, createVideoApi, type VideoUpstream } from '../video-jobs/api.ts'
import { complaintIn, objectAt } from '../video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureUrl, resolutionOf } from '../video-jobs/inputs.ts'
import type { VideoProvider } from '../provider-video.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'

const codes = {} as const
const ticksPerNano = 10
const ratios = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3']

/**
 * xAI's `/videos/generations`. While a video is made the answer is 202, mostly with an empty body. Source:
 * npm @ai-sdk/xai 5.
 */
export function createXaiVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, codes })
  return createVideoProvider(api, {
    codes,
    submit: task => ({
      path: '/videos/generations',
      body: defined({
        model: task.model,
        prompt: task.prompt,
        duration: task.seconds,
        aspect_ratio: aspectRatioOf(task, ratios),
        resolution: resolutionOf(task, ['480p', '720p', '1080p']),
        image: task.firstFrame && { url: pictureUrl(task.firstFrame) }
      })
    }),
    idIn: answer => answer.request_id,
    path: handle => `/videos/${handle}`,
    states: { pending: 'running', done: 'succeeded', failed: 'failed', expired: 'failed', moderated: 'failed' },
    read (answer) {
      const { progress, error } = answer
      const { url, duration, respect_moderation: isClean } = objectAt(answer, 'video')
      const ticks = objectAt(answer, 'usage').cost_in_usd_ticks
      return {
        // Finished answers have been seen without a status.
        status: isClean === false ? 'moderated' : answer.status ?? (url === undefined ? 'pending' : 'done'),
        progress,
        urls: url,
        seconds: duration,
        costNano: typeof ticks === 'number' && ticks >= 0 ? Math.ceil(ticks / ticksPerNano) : null,
        complaint: isClean === false
          ? { code: 'moderation_blocked', message: 'The video was held back by the provider\'s moderation.' }
          : complaintIn(error)
      }
    }
  })
}
