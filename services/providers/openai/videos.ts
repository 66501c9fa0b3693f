import type { JsonObject } from '../../shared/json.ts'
import { bearer, createVideoApi, type VideoApi, type VideoUpstream } from '../video-jobs/api.ts'
import { complaintIn, objectAt } from '../video-jobs/failures.ts'
import { defined, pictureUrl, sizeForRatio, sizeText } from '../video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import { createVideoProvider, nanoOf, type Reading } from '../video-jobs/dialect.ts'

/** How one server with OpenAI's `/videos` differs from the others. */
interface OpenAIVideos {
  body (task: VideoTask): JsonObject
  /** Where a finished video is. */
  result (answer: JsonObject, content: () => ReturnType<VideoApi['file']>): Promise<Partial<Reading>>
}

/**
 * OpenAI's own form, kept alive by self-hosted servers and gateways: the video is fetched with the key.
 * Source: OpenAI specification, `CreateVideoJsonBody` and `VideoResource`.
 */
const openai: OpenAIVideos = {
  body: (task) => defined({
    model: task.model,
    prompt: task.prompt,
    seconds: task.seconds === null ? null : String(task.seconds),
    size: sizeText(task, 'x') ?? sizeForRatio(task, ['1280x720', '720x1280']),
    input_reference: task.firstFrame && { image_url: pictureUrl(task.firstFrame) },
    seed: task.seed
  }),
  result: async (_, content) => ({ files: [await content()] })
}

/** Together's `/v2/videos`. Source: npm together-ai 0.52, resources/videos. */
const together: OpenAIVideos = {
  body (task) {
    const frames = [
      task.firstFrame && { input_image: pictureUrl(task.firstFrame), frame: 'first' },
      task.lastFrame && { input_image: pictureUrl(task.lastFrame), frame: 'last' }
    ].filter(frame => frame !== null)
    return defined({
      model: task.model,
      prompt: task.prompt,
      seconds: task.seconds === null ? null : String(task.seconds),
      width: task.size?.width,
      height: task.size?.height,
      ratio: task.aspectRatio,
      seed: task.seed,
      generate_audio: task.audio,
      media: frames.length === 0 ? null : { frame_images: frames }
    })
  },
  async result (answer) {
    const { video_url: urls, cost } = objectAt(answer, 'outputs')
    return { urls, costNano: nanoOf(cost) }
  }
}

/** `POST /videos`, `GET /videos/{id}`; such a job cannot be cancelled. */
function createProvider (upstream: VideoUpstream, { body, result }: OpenAIVideos): VideoProvider {
  const codes = {
    insufficient_quota: 'quota', model_not_found: 'not_found', rate_limit_exceeded: 'rate', invalid_api_key: 'auth'
  } as const
  const api = createVideoApi(upstream, { auth: bearer, codes })
  return createVideoProvider(api, {
    codes,
    submit: task => ({ path: '/videos', body: body(task) }),
    idIn: answer => answer.id,
    path: handle => `/videos/${handle}`,
    // Some gateways use words of their own.
    states: {
      queued: 'queued',
      pending: 'queued',
      in_progress: 'running',
      processing: 'running',
      completed: 'succeeded',
      succeeded: 'succeeded',
      failed: 'failed',
      expired: 'failed',
      cancelled: 'cancelled'
    },
    async read (answer, handle, signal) {
      const { status, progress, seconds, error } = answer
      const isDone = status === 'completed' || status === 'succeeded'
      const content = () => api.file(`/videos/${handle}/content`, signal)
      const found = isDone ? await result(answer, content) : {}
      return { status, progress, seconds, complaint: complaintIn(error), ...found }
    }
  })
}

export const createOpenAIVideos = (upstream: VideoUpstream): VideoProvider => createProvider(upstream, openai)
export const createTogetherVideos = (upstream: VideoUpstream): VideoProvider =>
  createProvider(upstream, together)
