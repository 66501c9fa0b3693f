import { bearer, createVideoApi, type VideoUpstream } from '../video-jobs/api.ts'
import { complaintIn, objectAt } from '../video-jobs/failures.ts'
import { defined, pictureUrl, sizeText } from '../video-jobs/inputs.ts'
import type { FrameImage, VideoProvider, VideoTask } from '../provider-video.ts'
import { createVideoProvider, nanoOf } from '../video-jobs/dialect.ts'

const codes = {} as const

/** OpenRouter's `/videos`: many providers' models in one form. Source: npm @openrouter/sdk 1.3. */
export function createOpenRouterVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, codes })
  return createVideoProvider(api, {
    codes,
    submit: task => ({
      path: '/videos',
      body: defined({
        model: task.model,
        prompt: task.prompt,
        duration: task.seconds,
        size: sizeText(task, 'x'),
        aspect_ratio: task.size === null ? task.aspectRatio : null,
        seed: task.seed,
        generate_audio: task.audio,
        frame_images: framesOf(task)
      })
    }),
    idIn: answer => answer.id,
    path: handle => `/videos/${handle}`,
    states: {
      pending: 'queued',
      in_progress: 'running',
      completed: 'succeeded',
      failed: 'failed',
      expired: 'failed',
      cancelled: 'cancelled'
    },
    async read ({ status, error, usage }, handle, signal) {
      // Of the addresses in the answer it is not known whether they need the key; the content does.
      const files = status === 'completed' ? [await api.file(`/videos/${handle}/content?index=0`, signal)] : []
      return { status, files, complaint: complaintIn(error), costNano: nanoOf(objectAt({ usage }, 'usage').cost) }
    }
  })
}

function framesOf ({ firstFrame, lastFrame }: VideoTask) {
  const frame = (picture: FrameImage | null, frameType: string) => picture && {
    type: 'image_url', image_url: { url: pictureUrl(picture) }, frame_type: frameType
  }
  const frames = [frame(firstFrame, 'first_frame'), frame(lastFrame, 'last_frame')].filter(one => one !== null)
  return frames.length === 0 ? null : frames
}
