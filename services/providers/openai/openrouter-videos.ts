import { createVideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField } from '../video-jobs/errors.ts'
import { withoutNulls, frameUrl, formatVideoSize } from '../video-jobs/fields.ts'
import type { FrameImage, VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'
import { reportedCost } from '../report.ts'

/** OpenRouter's `/videos`: many providers' models in one form. Source: npm @openrouter/sdk 1.3. */
export function createOpenRouterVideos (upstream: Upstream): VideoProvider {
  const api = createVideoClient(upstream)
  return createVideoProvider(api, {
    submit: task => ({
      path: '/videos',
      body: withoutNulls({
        model: task.model,
        prompt: task.prompt,
        duration: task.seconds,
        size: formatVideoSize(task, 'x'),
        aspect_ratio: task.size === null ? task.aspectRatio : null,
        seed: task.seed,
        generate_audio: task.audio,
        frame_images: framesOf(task)
      })
    }),
    pollPath: handle => `/videos/${handle}`,
    async read ({ status, error, usage }, handle, signal) {
      // Of the addresses in the answer it is not known whether they need the key; the content does.
      const files = status === 'completed' ? [await api.openFile(`/videos/${handle}/content?index=0`, signal)] : []
      return { status, files, error: readErrorDetail(error), costNano: reportedCost(objectField({ usage }, 'usage').cost, 1e9) }
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
