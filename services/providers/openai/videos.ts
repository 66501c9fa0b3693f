import type { JsonObject } from '../../shared/json.ts'
import { createVideoClient, type VideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField } from '../video-jobs/errors.ts'
import { usualChoices } from '../video-jobs/choices.ts'
import { withoutNulls, frameUrl, formatVideoSize, refuseLastFrame, refuseOption } from '../video-jobs/fields.ts'
import type { VideoChoices, VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider, type JobStatus } from '../video-jobs/dialect.ts'
import { reportedCost } from '../reported-cost.ts'

/** How one server with OpenAI's `/videos` differs from the others. */
interface OpenAIVideos {
  choices (model: string): VideoChoices
  body (task: VideoTask): JsonObject
  /** The place of a finished video. */
  result (response: JsonObject, content: () => ReturnType<VideoClient['openFile']>): Promise<Partial<JobStatus>>
}

/**
 * Shut down at OpenAI on 24 Sep 2026; still offered by self-hosted servers. It has no field for audio: Sora's
 * videos all have it. Source: npm openai 7.57.0, `VideoCreateParams`, 24 Nov 2026; its `seed` is an addition
 * of such servers.
 */
const openai: OpenAIVideos = {
  choices: () => ({ seconds: 4, size: '1280x720', sound: 'always' }),
  body (task) {
    refuseLastFrame(task)
    if (task.prompt === '') refuseOption('messages', 'needs a text')
    return withoutNulls({
      model: task.model,
      prompt: task.prompt,
      seconds: String(task.seconds),
      size: formatVideoSize(task, 'x'),
      input_reference: task.firstFrame && { image_url: frameUrl(task.firstFrame) },
      seed: task.seed
    })
  },
  result: async (_, content) => ({ files: [await content()] })
}

/** Together's `/v2/videos`. Source: npm together-ai 0.52.0, resources/videos, 24 Nov 2026. */
const together: OpenAIVideos = {
  choices: model => ({ ...usualChoices(model), sound: 'stated' }),
  body (task) {
    const frames = [
      task.firstFrame && { input_image: frameUrl(task.firstFrame), frame: 'first' },
      task.lastFrame && { input_image: frameUrl(task.lastFrame), frame: 'last' }
    ].filter(frame => frame !== null)
    return withoutNulls({
      model: task.model,
      prompt: task.prompt || null,
      seconds: String(task.seconds),
      width: task.size.width,
      height: task.size.height,
      ratio: task.aspectRatio,
      seed: task.seed,
      generate_audio: task.audio,
      media: frames.length === 0 ? null : { frame_images: frames }
    })
  },
  async result (response) {
    const { video_url: urls, cost } = objectField(response, 'outputs')
    return { urls, costNano: reportedCost(cost, 1e9) }
  }
}

/** `POST /videos`, `GET /videos/{id}`; such a job cannot be cancelled. */
function createProvider (upstream: Upstream, { choices, body, result }: OpenAIVideos): VideoProvider {
  const codes = {
    insufficient_quota: 'quota', model_not_found: 'not_found', rate_limit_exceeded: 'rate', invalid_api_key: 'auth'
  } as const
  const api = createVideoClient(upstream, { codes })
  return createVideoProvider(api, {
    choices,
    submit: task => ({ path: '/videos', body: body(task) }),
    pollPath: handle => `/videos/${handle}`,
    async read (response, handle, signal) {
      const { status, progress, seconds, error } = response
      const isDone = status === 'completed' || status === 'succeeded'
      const content = () => api.openFile(`/videos/${handle}/content`, signal)
      const found = isDone ? await result(response, content) : {}
      return { status, progress, seconds, error: readErrorDetail(error), ...found }
    }
  })
}

export const createOpenAIVideos = (upstream: Upstream): VideoProvider => createProvider(upstream, openai)
export const createTogetherVideos = (upstream: Upstream): VideoProvider => createProvider(upstream, together)
