import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { createVideoApi, type VideoApi, type VideoUpstream } from '../video-jobs/api.ts'
import { complaintIn, objectAt } from '../video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureUrl, resolutionOf, usualRatios } from '../video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import { createVideoProvider, type Reading } from '../video-jobs/dialect.ts'

const codes = { content_policy_violation: 'moderated' } as const

/**
 * The queue of fal. A model is a path, e.g. `fal-ai/kling-video/v3/pro/text-to-video`, its jobs are known by
 * the first two parts of it. Source: npm @fal-ai/client 1.10, docs.fal.ai.
 */
export function createFalVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: apiKey => ({ authorization: `Key ${apiKey}` }), codes })
  return createVideoProvider(api, {
    codes,
    polling: { minMs: 1_000, maxMs: 10_000 },
    submit: task => ({ path: `/${pathOf(task.model)}`, body: bodyOf(task) }),
    idIn: answer => answer.request_id,
    handle: (id, task) => `${appOf(task.model)}/requests/${encodeURIComponent(id)}`,
    path: handle => `/${handle}/status`,
    states: { IN_QUEUE: 'queued', IN_PROGRESS: 'running', COMPLETED: 'succeeded', FAILED: 'failed' },
    async read ({ status, error, error_type: type }, handle, signal) {
      if (status !== 'COMPLETED') return { status }
      // A job that failed is completed too; with its result comes what went wrong.
      if (typeof error === 'string') return { status: 'FAILED', complaint: complaintIn({ type, message: error }) }
      return await resultOf(handle, api, signal)
    },
    cancel: handle => ({ method: 'PUT', path: `/${handle}/cancel` })
  })
}

async function resultOf (handle: string, api: VideoApi, signal: AbortSignal): Promise<Reading> {
  try {
    const answer = await api.get(`/${handle}`, signal) ?? {}
    const { url, duration } = objectAt(answer, 'video')
    return { status: 'COMPLETED', urls: url, seconds: duration, complaint: complaintIn(answer) }
  } catch (error) {
    if (!(error instanceof UpstreamError) || !isFinal(error)) throw error
    const code = error.kind === 'moderated' ? 'content_policy_violation' : error.details.code ?? null
    return { status: 'FAILED', complaint: { code, message: error.message } }
  }
}

/** Whether the error is the job's own; asking again would bring the same. */
const isFinal = ({ kind }: UpstreamError): boolean => ['bad_request', 'moderated', 'too_large'].includes(kind)

interface FalDialect { model: RegExp, duration?: (seconds: number) => string | number, last?: string }

/** How models differ in what they call things; the first that matches counts. Source: the models' pages. */
const dialects: readonly FalDialect[] = [
  { model: /veo|luma/, duration: seconds => `${seconds}s` },
  { model: /sora|ltx/, duration: seconds => seconds },
  { model: /kling/, last: 'tail_image_url' }
]

function bodyOf (task: VideoTask): JsonObject {
  const { duration = String, last = 'end_image_url' } = dialects.find(({ model }) => model.test(task.model)) ?? {}
  return defined({
    prompt: task.prompt,
    image_url: pictureUrl(task.firstFrame),
    [last]: pictureUrl(task.lastFrame),
    duration: task.seconds === null ? null : duration(task.seconds),
    aspect_ratio: aspectRatioOf(task, usualRatios),
    resolution: resolutionOf(task, ['480p', '720p', '1080p', '4k']),
    seed: task.seed,
    generate_audio: task.audio
  })
}

const pathOf = (model: string): string => model.split('/').map(encodeURIComponent).join('/')

/** Owner and name, behind `workflows` or `comfy` where a path begins so. */
function appOf (model: string): string {
  const parts = pathOf(model).split('/')
  return parts.slice(0, parts[0] === 'workflows' || parts[0] === 'comfy' ? 3 : 2).join('/')
}
