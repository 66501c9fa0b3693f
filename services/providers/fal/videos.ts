import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { createVideoClient, type VideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField } from '../video-jobs/errors.ts'
import { usualChoices } from '../video-jobs/choices.ts'
import {
  aspectRatioFor, commonAspectRatios, frameUrl, refuseRatio, resolutionFor, withoutNulls, type ResolutionName
} from '../video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider, type JobStatus } from '../video-jobs/dialect.ts'

/** Types of errors whose status would say otherwise. Source: fal.ai/docs/errors, 23 Nov 2026. */
const codes = {
  content_policy_violation: 'moderated', downstream_service_error: 'bad_reply', no_media_generated: 'bad_reply'
} as const

/**
 * Fal's queue; a model is a path. Source: npm @fal-ai/client 1.10.1 and fal.ai/docs/model-api-reference, 23
 * Nov 2026.
 */
export function createFalVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream, { auth: apiKey => ({ authorization: `Key ${apiKey}` }), codes })
  return createVideoProvider(client, {
    polling: { minMs: 1_000, maxMs: 10_000 },
    choices: model => ({ ...usualChoices(model), ...fieldsOf(model).choices }),
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
    const { kind, message, details: { code = null } } = error
    return { status: 'FAILED', error: { code, message, kind } }
  }
}

const isFinal = ({ kind, details: { status = 0 } }: UpstreamError): boolean =>
  kind === 'moderated' || [400, 413, 422].includes(status)

interface ModelFields {
  model: RegExp
  /** Names of the first and the last frame. */
  frames?: readonly [string, string]
  duration?: (seconds: number) => string | number
  /** One name: the model's path decides, and no field states it. */
  resolutions?: readonly ResolutionName[]
  choices?: { size: string }
  /** Models without a field: the video has the shape of its frame. */
  hasRatio?: boolean
}

const inSeconds = (seconds: number): string => `${seconds}s`
const fullHd = { size: '1920x1080' }

/**
 * Differences between the models' fields; the first match applies. Source: the models' pages, 23 Nov 2026.
 */
const fieldsByModel: readonly ModelFields[] = [
  {
    model: /veo.*first-last-frame/,
    duration: inSeconds,
    resolutions: ['720p', '1080p', '4k'],
    frames: ['first_frame_url', 'last_frame_url']
  },
  { model: /veo/, duration: inSeconds, resolutions: ['720p', '1080p', '4k'] },
  { model: /luma/, duration: inSeconds, resolutions: ['540p', '720p', '1080p'] },
  { model: /sora/, duration: seconds => seconds, resolutions: ['720p', '1080p'] },
  { model: /ltx/, duration: seconds => seconds, resolutions: ['1080p', '1440p', '2160p'] },
  ...klingFields(/v2\.6|v3/, ['start_image_url', 'end_image_url']),
  ...klingFields(/o[13]/, ['image_url', 'end_image_url']),
  ...klingFields(/(?:)/, ['image_url', 'tail_image_url']),
  { model: /hailuo-02\/standard/, resolutions: ['512P', '768P'] },
  { model: /hailuo.*pro/, resolutions: ['1080p'], choices: fullHd, hasRatio: false },
  { model: /hailuo|minimax/, resolutions: ['768p'], hasRatio: false }
]

/** Kling's tier is a part of the path, and its image-to-video has no aspect ratio. */
function klingFields (version: RegExp, frames: readonly [string, string]): ModelFields[] {
  const of = (rest: string) => new RegExp(`kling.*(${version.source})${rest}`)
  return [
    { model: of('.*(pro|master).*image-to-video'), frames, resolutions: ['1080p'], choices: fullHd, hasRatio: false },
    { model: of('.*(pro|master)'), frames, resolutions: ['1080p'], choices: fullHd },
    { model: of('.*image-to-video'), frames, resolutions: ['720p'], hasRatio: false },
    { model: of(''), frames, resolutions: ['720p'] }
  ]
}

const fieldsOf = (name: string): Partial<ModelFields> =>
  fieldsByModel.find(({ model }) => model.test(name)) ?? {}

function bodyOf (task: VideoTask): JsonObject {
  const {
    frames: [first, last] = ['image_url', 'end_image_url'],
    duration = String,
    resolutions = ['480p', '720p', '1080p', '4k'],
    hasRatio = true
  } = fieldsOf(task.model)
  const resolution = resolutionFor(task, resolutions)
  return withoutNulls({
    prompt: task.prompt,
    [first]: frameUrl(task.firstFrame),
    [last]: frameUrl(task.lastFrame),
    duration: duration(task.seconds),
    aspect_ratio: hasRatio ? aspectRatioFor(task, commonAspectRatios) : refuseRatio(task),
    resolution: resolutions.length === 1 ? null : resolution,
    seed: task.seed,
    generate_audio: usualChoices(task.model).sound === 'stated' ? task.audio : null
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
