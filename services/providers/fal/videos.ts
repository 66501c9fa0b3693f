import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { createVideoClient, type VideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField } from '../video-jobs/errors.ts'
import { aspectRatioFor, withoutNulls, frameUrl, resolutionFor, commonAspectRatios } from '../video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider, type JobStatus } from '../video-jobs/dialect.ts'

const codes = { content_policy_violation: 'moderated' } as const

/** Fal's queue; a model is a path. Source: npm @fal-ai/client 1.10, docs.fal.ai. */
export function createFalVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { auth: apiKey => ({ authorization: `Key ${apiKey}` }), codes })
  return createVideoProvider(client, {
    polling: { minMs: 1_000, maxMs: 10_000 },
    submit: task => ({ path: `/${modelPath(task.model)}`, body: bodyOf(task) }),
    jobId: answer => answer.request_id,
    handle: (id, task) => `${appPath(task.model)}/requests/${encodeURIComponent(id)}`,
    pollPath: handle => `/${handle}/status`,
    states: { IN_QUEUE: 'queued', IN_PROGRESS: 'running', COMPLETED: 'succeeded', FAILED: 'failed' },
    async read ({ status, error, error_type: type }, handle, signal) {
      if (status !== 'COMPLETED') return { status }
      // A failed job is also COMPLETED; its result is the error.
      if (typeof error === 'string') return { status: 'FAILED', error: readErrorDetail({ type, message: error }) }
      return await resultOf(handle, client, signal)
    },
    cancel: handle => ({ method: 'PUT', path: `/${handle}/cancel` })
  })
}

async function resultOf (handle: string, client: VideoClient, signal: AbortSignal): Promise<JobStatus> {
  try {
    const answer = await client.get(`/${handle}`, signal) ?? {}
    const { url, duration } = objectField(answer, 'video')
    return { status: 'COMPLETED', urls: url, seconds: duration, error: readErrorDetail(answer) }
  } catch (error) {
    if (!(error instanceof UpstreamError) || !isFinal(error)) throw error
    const code = error.kind === 'moderated' ? 'content_policy_violation' : error.details.code ?? null
    return { status: 'FAILED', error: { code, message: error.message } }
  }
}

const isFinal = ({ kind }: UpstreamError): boolean => ['bad_request', 'moderated', 'too_large'].includes(kind)

interface ModelFields { model: RegExp, duration?: (seconds: number) => string | number, last?: string }

/** Differences between the models' fields; the first match applies. Source: the models' pages. */
const fieldsByModel: readonly ModelFields[] = [
  { model: /veo|luma/, duration: seconds => `${seconds}s` },
  { model: /sora|ltx/, duration: seconds => seconds },
  { model: /kling/, last: 'tail_image_url' }
]

function bodyOf (task: VideoTask): JsonObject {
  const { duration = String, last = 'end_image_url' } = fieldsByModel.find(({ model }) => model.test(task.model)) ?? {}
  return withoutNulls({
    prompt: task.prompt,
    image_url: frameUrl(task.firstFrame),
    [last]: frameUrl(task.lastFrame),
    duration: task.seconds === null ? null : duration(task.seconds),
    aspect_ratio: aspectRatioFor(task, commonAspectRatios),
    resolution: resolutionFor(task, ['480p', '720p', '1080p', '4k']),
    seed: task.seed,
    generate_audio: task.audio
  })
}

/** The URL path of a model, without a leading slash. */
export function modelPath (model: string): string {
  return model.split('/').map(encodeURIComponent).join('/')
}

/** The path of the app that owns a model's requests: `owner/alias`, behind a namespace for some owners. */
export function appPath (model: string): string {
  const isNamespaced = /^(workflows|comfy)\//.test(model)
  return modelPath(model.split('/').slice(0, isNamespaced ? 3 : 2).join('/'))
}
