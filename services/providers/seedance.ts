import { bearer, createVideoApi, type VideoUpstream } from './video-jobs/api.ts'
import { complaintIn, objectAt } from './video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureUrl, resolutionOf, usualRatios } from './video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

const codes = {
  AuthenticationError: 'auth', AccountOverdueError: 'quota', ModelNotOpen: 'not_found', ServerOverloaded: 'overloaded'
} as const

/**
 * Seedance at BytePlus or Volcengine. A failed task is told with status 200 and an `error`. Source: npm
 * @ai-sdk/bytedance.
 */
export function createSeedanceVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, codes })
  const tasks = '/contents/generations/tasks'
  return createVideoProvider(api, {
    codes,
    submit: task => ({
      path: tasks,
      body: defined({
        model: task.model,
        content: contentOf(task),
        ratio: aspectRatioOf(task, usualRatios),
        resolution: resolutionOf(task, ['480p', '720p', '1080p']),
        duration: task.seconds,
        seed: task.seed,
        generate_audio: task.audio,
        watermark: false
      })
    }),
    idIn: answer => answer.id,
    path: handle => `${tasks}/${handle}`,
    states: {
      queued: 'queued',
      running: 'running',
      succeeded: 'succeeded',
      failed: 'failed',
      expired: 'failed',
      cancelled: 'cancelled'
    },
    read: answer => ({
      // An error without a status would be the answer to the question, not the end of the task.
      status: answer.status,
      urls: objectAt(answer, 'content').video_url,
      seconds: answer.duration,
      complaint: complaintIn(answer.error)
    }),
    cancel: handle => ({ method: 'DELETE', path: `${tasks}/${handle}` })
  })
}

/** The prompt and the frames in one list; a single picture is the first frame. */
function contentOf ({ prompt, firstFrame, lastFrame }: VideoTask) {
  return [
    { type: 'text', text: prompt },
    firstFrame && { type: 'image_url', image_url: { url: pictureUrl(firstFrame) }, role: 'first_frame' },
    lastFrame && { type: 'image_url', image_url: { url: pictureUrl(lastFrame) }, role: 'last_frame' }
  ].filter(part => part !== null)
}
