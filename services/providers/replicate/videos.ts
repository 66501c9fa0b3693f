import { isObject, type JsonObject } from '../../shared/json.ts'
import { createVideoClient, type VideoClient } from '../video-jobs/client.ts'
import { badReply, readErrorDetail, objectField, textOrNull } from '../video-jobs/errors.ts'
import { usualChoices } from '../video-jobs/choices.ts'
import { aspectRatioFor, withoutNulls, frameUrl, resolutionFor, commonAspectRatios, type ResolutionName } from '../video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'
import { urlPart } from '../url-part.ts'

/**
 * Replicate. A model is `<owner>/<name>` or `<owner>/<name>:<version>`. Predictions have no client-side id,
 * but unknown inputs are ignored and listed, so that one of them carries the submit key. Source: npm
 * replicate 1.4.0; replicate.com, predictions and data retention; 24 Nov 2026.
 */
export function createReplicateVideos (upstream: Upstream): VideoProvider {
  const client = createVideoClient(upstream)
  const provider = createVideoProvider(client, {
    polling: { minMs: 1_000, maxMs: 10_000 },
    choices: usualChoices,
    submit: task => predictionRequest(task.model, inputOf(task)),
    pollPath: handle => `/predictions/${handle}`,
    states: {
      starting: 'queued',
      processing: 'running',
      succeeded: 'succeeded',
      failed: 'failed',
      canceled: 'cancelled',
      aborted: 'cancelled'
    },
    read: ({ status, output, error }) => ({ status, urls: output, error: readErrorDetail(error) }),
    cancel: handle => ({ method: 'POST', path: `/predictions/${handle}/cancel` })
  })
  return { ...provider, find: (task, signal) => find(task, client, signal) }
}

/** The models' names of the frame inputs; the first match applies. Source: the models' pages. */
const frames: readonly [RegExp, string, string][] = [
  [/kling|luma\/ray/, 'start_image', 'end_image'],
  [/minimax|hailuo/, 'first_frame_image', 'last_frame_image'],
  [/veo/, 'image', 'last_frame'],
  [/wan/, 'image', 'last_image'],
  [/(?:)/, 'image', 'last_frame_image']
]

function inputOf (task: VideoTask): JsonObject {
  const [, first, last] = frames.find(([model]) => model.test(task.model)) ?? ['', 'image', 'last_frame_image']
  const resolution = resolutionFor(task, resolutionsOf(task.model))
  return withoutNulls({
    prompt: task.prompt || null,
    [first]: frameUrl(task.firstFrame),
    [last]: frameUrl(task.lastFrame),
    duration: task.seconds,
    aspect_ratio: aspectRatioFor(task, commonAspectRatios),
    resolution,
    // Kling's name for it; ignored by models without it.
    mode: /kling/.test(task.model) ? (resolution === '1080p' ? 'pro' : 'standard') : null,
    seed: task.seed,
    generate_audio: usualChoices(task.model).sound === 'stated' ? task.audio : null,
    submit_key: task.submitKey
  })
}

function resolutionsOf (model: string): readonly ResolutionName[] {
  return /minimax|hailuo/.test(model) ? ['512p', '768p', '1080p'] : ['480p', '720p', '1080p', '4k']
}

const searchLimits = { pages: 20, clockSkewMs: 120_000 }

/**
 * Searches the predictions, newest first, until they are older than the submit. Replicate deletes inputs
 * after an hour: throws if a deleted one may have been the job's.
 */
async function find (task: VideoTask, client: VideoClient, signal: AbortSignal): Promise<string | null> {
  const oldestMs = (task.submittedAt ?? -Infinity) - searchLimits.clockSkewMs
  let path = '/predictions'
  for (let page = 0; page < searchLimits.pages; page++) {
    const { results, next } = await client.get(path, signal) ?? {}
    if (!Array.isArray(results)) throw badReply('has no list of predictions')
    for (const prediction of results.filter(isObject)) {
      if (objectField(prediction, 'input').submit_key === task.submitKey) return textOrNull(prediction.id)
      if (Date.parse(String(prediction.created_at)) < oldestMs) return null
      if (prediction.data_removed === true) throw badReply('lists predictions without their inputs')
    }
    const cursor = typeof next === 'string' ? new URL(next, 'https://list').searchParams.get('cursor') : null
    if (cursor === null) return null
    path = `/predictions?cursor=${urlPart(cursor)}`
  }
  throw badReply('lists too many predictions to search')
}

/** Path and body that create a prediction; a model is `<owner>/<name>` or `<owner>/<name>:<version>`. */
export function predictionRequest (model: string, input: JsonObject): { path: string, body: JsonObject } {
  const [name = '', version] = model.split(':')
  const modelPath = name.split('/').map(urlPart).join('/')
  const path = version === undefined ? `/models/${modelPath}/predictions` : '/predictions'
  return { path, body: withoutNulls({ version, input }) }
}
