import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { createVideoClient, type VideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField } from '../video-jobs/errors.ts'
import {
  aspectRatioFor, frameUrl, refuseLastFrame, refuseOption, refuseRatio, refuseSeed, resolutionFor,
  secondsAmong, shapeOf, withoutNulls
} from '../video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider, type JobStatus } from '../video-jobs/dialect.ts'
import { falChoices, fieldsOf, type FalModel } from './model-fields.ts'
import { urlPart } from '../url-part.ts'

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
    choices: falChoices,
    submit: task => ({ path: `/${modelPath(task.model)}`, body: bodyOf(task) }),
    jobId: response => response.request_id,
    handle: (id, task) => `${appPath(task.model)}/requests/${urlPart(id)}`,
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
    const response = await client.get(`/${handle}`, signal) ?? {}
    const { url, duration } = objectField(response, 'video')
    return { status: 'COMPLETED', urls: url, seconds: duration, error: readErrorDetail(response) }
  } catch (error) {
    if (!(error instanceof UpstreamError) || !isFinal(error)) throw error
    const { kind, message, details: { code = null } } = error
    return { status: 'FAILED', error: { code, message, kind } }
  }
}

const isFinal = ({ kind, details: { status = 0 } }: UpstreamError): boolean =>
  kind === 'moderated' || [400, 413, 422].includes(status)

function bodyOf (task: VideoTask): JsonObject {
  const model = fieldsOf(task.model)
  const [first, last] = model.frames
  const pictures = [task.firstFrame, task.lastFrame].filter(frame => frame !== null).length
  if (first === undefined && pictures > 0) refuseOption('messages', 'takes no picture')
  if (last === undefined) refuseLastFrame(task)
  if (pictures < model.needs) refuseOption('messages', model.needs === 1 ? 'needs a picture' : 'needs a first and a last frame')
  if (model.needsText && task.prompt === '') refuseOption('messages', 'needs a text')
  if (!model.seed) refuseSeed(task)
  const resolution = resolutionFor(task, model.fixed === null ? model.resolutions : [model.fixed])
  return withoutNulls({
    prompt: task.prompt === '' ? null : task.prompt,
    ...(first !== undefined && { [first]: frameUrl(task.firstFrame) }),
    ...(last !== undefined && { [last]: frameUrl(task.lastFrame) }),
    duration: durationOf(task, model),
    aspect_ratio: ratioOf(task, model, pictures > 0),
    resolution: model.fixed === null ? resolution : null,
    seed: task.seed,
    ...(falChoices(task.model).sound === 'stated' && { [model.sound]: task.audio })
  })
}

function durationOf (task: VideoTask, { lengths, unit }: FalModel): string | number | null {
  const seconds = lengths === null ? task.seconds : secondsAmong(task, lengths)
  if (unit === 'none') return null
  return unit === 'number' ? seconds : unit === 's' ? `${seconds}s` : String(seconds)
}

function ratioOf (task: VideoTask, { ratios }: FalModel, hasPicture: boolean): string | null {
  if (ratios !== null) return aspectRatioFor(task, ratios)
  if (hasPicture) return refuseRatio(task)
  // Refuses any other shape.
  shapeOf(task, ['16:9'])
  return null
}

/** The URL path of a model, without a leading slash. */
export function modelPath (model: string): string {
  return model.split('/').map(urlPart).join('/')
}

/** The path of the app that owns a model's requests: `owner/alias`, behind a namespace for some owners. */
export function appPath (model: string): string {
  const isNamespaced = /^(workflows|comfy)\//.test(model)
  return modelPath(model.split('/').slice(0, isNamespaced ? 3 : 2).join('/'))
}
