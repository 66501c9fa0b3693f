import { createVideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField } from '../video-jobs/errors.ts'
import { usualChoices } from '../video-jobs/choices.ts'
import { aspectRatioFor, formatVideoSize, frameUrl, resolutionFor, withoutNulls } from '../video-jobs/fields.ts'
import type { FrameImage, VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'
import { openRouterCost } from '../reported-cost.ts'

const ratios = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21']
const resolutions = ['360p', '480p', '720p', '768p', '1080p', '2K', '4K'] as const

/**
 * OpenRouter's `/videos`: many providers' models in one form. Source: npm @openrouter/sdk 1.3.19, 24 Nov
 * 2026.
 */
export function createOpenRouterVideos (upstream: Upstream): VideoProvider {
  const api = createVideoClient(upstream)
  return createVideoProvider(api, {
    choices: model => ({ ...usualChoices(model), sound: 'stated' }),
    submit: task => ({
      path: '/videos',
      body: withoutNulls({
        model: task.model,
        prompt: task.prompt || null,
        duration: task.seconds,
        // Without `size`, a video from a picture may have the picture's shape.
        ...(task.isSizeAsked
          ? { size: formatVideoSize(task, 'x') }
          : { resolution: resolutionFor(task, resolutions), aspect_ratio: aspectRatioFor(task, ratios) }),
        seed: task.seed,
        generate_audio: task.audio,
        frame_images: framesOf(task)
      })
    }),
    pollPath: handle => `/videos/${handle}`,
    async read ({ status, error, usage }, handle, signal) {
      // Of the addresses in the answer it is not known whether they need the key; the content does.
      const files = status === 'completed' ? [await api.openFile(`/videos/${handle}/content?index=0`, signal)] : []
      return { status, files, error: readErrorDetail(error), costNano: openRouterCost(objectField({ usage }, 'usage')) }
    }
  })
}

function framesOf ({ firstFrame, lastFrame }: VideoTask) {
  const frame = (picture: FrameImage | null, frameType: string) => picture && {
    type: 'image_url', image_url: { url: frameUrl(picture) }, frame_type: frameType
  }
  const frames = [frame(firstFrame, 'first_frame'), frame(lastFrame, 'last_frame')].filter(one => one !== null)
  return frames.length === 0 ? null : frames
}
