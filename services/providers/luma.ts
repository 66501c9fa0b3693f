import { bearer, createVideoApi, type VideoUpstream } from './video-jobs/api.ts'
import { objectAt, textOf } from './video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureAddress, resolutionOf } from './video-jobs/inputs.ts'
import type { FrameImage, VideoProvider, VideoTask } from './provider-video.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

const codes = {} as const
const ratios = ['1:1', '16:9', '9:16', '4:3', '3:4', '21:9', '9:21']

/** Luma's Dream Machine. It takes pictures only by address. Source: npm lumaai 1.19. */
export function createLumaVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, codes })
  return createVideoProvider(api, {
    codes,
    pictures: 'url',
    submit: task => ({
      path: '/generations/video',
      body: defined({
        generation_type: 'video',
        model: task.model,
        prompt: task.prompt,
        duration: task.seconds === null ? null : `${task.seconds}s`,
        aspect_ratio: aspectRatioOf(task, ratios),
        resolution: resolutionOf(task, ['540p', '720p', '1080p', '4k']),
        keyframes: keyframesOf(task)
      })
    }),
    idIn: answer => answer.id,
    path: handle => `/generations/${handle}`,
    states: { queued: 'queued', dreaming: 'running', completed: 'succeeded', failed: 'failed' },
    read: answer => ({
      status: answer.state,
      urls: objectAt(answer, 'assets').video,
      complaint: { code: null, message: textOf(answer.failure_reason) }
    }),
    cancel: handle => ({ method: 'DELETE', path: `/generations/${handle}` })
  })
}

function keyframesOf ({ firstFrame, lastFrame }: VideoTask) {
  if (firstFrame === null && lastFrame === null) return null
  const image = (picture: FrameImage | null) => picture && { type: 'image', url: pictureAddress(picture) }
  return defined({ frame0: image(firstFrame), frame1: image(lastFrame) })
}
