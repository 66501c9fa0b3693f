import { isObject } from '../shared/json.ts'
import { bearer, createVideoApi, type VideoUpstream } from './video-jobs/api.ts'
import { complaintIn, objectAt, textOf } from './video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureUrl, resolutionOf, usualRatios } from './video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'

/** Source: MiniMax error codes. */
const codes = {
  1002: 'rate',
  1004: 'auth',
  1008: 'quota',
  1026: 'moderated',
  1027: 'moderated',
  2013: 'bad_request',
  2049: 'auth'
} as const

/** MiniMax's second video API. Source: npm @ai-sdk/minimax 3. */
export function createMiniMaxVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, codes, errorIn })
  return createVideoProvider(api, {
    codes,
    submit: task => ({
      path: '/video_generation',
      body: defined({
        model: task.model,
        content: contentOf(task),
        resolution: resolutionOf(task, task.model === 'MiniMax-H3-Max' ? ['480P', '768P'] : ['768P', '2K']),
        duration: task.seconds,
        // Where there is a picture, it gives the shape.
        ratio: task.firstFrame === null ? aspectRatioOf(task, usualRatios) : null
      })
    }),
    idIn: answer => answer.task_id,
    path: handle => `/query/video_generation/${handle}`,
    states: {
      queued: 'queued',
      running: 'running',
      succeeded: 'succeeded',
      failed: 'failed',
      expired: 'failed',
      cancelled: 'cancelled'
    },
    read (answer) {
      const task = objectAt(answer, 'task')
      const usage = objectAt(task, 'usage')
      return {
        status: task.status,
        urls: objectAt(task, 'content').url,
        seconds: usage.output_seconds ?? usage.total_seconds ?? task.duration,
        complaint: complaintIn(task.error)
      }
    }
  })
}

/** Its first API told all errors with status 200 in `base_resp`; some gateways before it still do. */
function errorIn ({ base_resp: said }: Record<string, unknown>) {
  if (!isObject(said) || said.status_code === 0 || said.status_code === undefined) return null
  return { code: textOf(said.status_code), message: textOf(said.status_msg) }
}

function contentOf ({ prompt, firstFrame, lastFrame }: VideoTask) {
  return [
    { type: 'text', text: prompt },
    firstFrame && { type: 'image_url', image_url: { url: pictureUrl(firstFrame) }, role: 'first_frame' },
    lastFrame && { type: 'image_url', image_url: { url: pictureUrl(lastFrame) }, role: 'last_frame' }
  ].filter(part => part !== null)
}
