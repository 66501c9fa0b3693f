import { isObject, type JsonObject } from '../../shared/json.ts'
import { bearer, createVideoApi, type VideoApi, type VideoUpstream } from '../video-jobs/api.ts'
import { badReply, complaintIn, objectAt, textOf } from '../video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureUrl, resolutionOf, usualRatios } from '../video-jobs/inputs.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'

const codes = {} as const

/**
 * Replicate. A model is `<owner>/<name>`, or `<owner>/<name>:<version>`. A prediction cannot be named by the
 * client, but inputs that a model does not know are ignored and listed: one of them holds the submit key.
 * Source: npm replicate 1.4; replicate.com, predictions and data retention.
 */
export function createReplicateVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: bearer, codes })
  const maker = createVideoProvider(api, {
    codes,
    polling: { minMs: 1_000, maxMs: 10_000 },
    submit (task) {
      const [name = '', version] = task.model.split(':')
      const model = name.split('/').map(encodeURIComponent).join('/')
      const path = version === undefined ? `/models/${model}/predictions` : '/predictions'
      return { path, body: defined({ version, input: inputOf(task) }) }
    },
    idIn: answer => answer.id,
    path: handle => `/predictions/${handle}`,
    states: {
      starting: 'queued',
      processing: 'running',
      succeeded: 'succeeded',
      failed: 'failed',
      canceled: 'cancelled',
      // Ended by a deadline before it began.
      aborted: 'cancelled'
    },
    read: ({ status, output, error }) => ({ status, urls: output, complaint: complaintIn(error) }),
    cancel: handle => ({ method: 'POST', path: `/predictions/${handle}/cancel` })
  })
  return { ...maker, find: (task, signal) => find(task, api, signal) }
}

/** How models differ in what they call pictures; the first that matches counts. Source: the models' pages. */
const frames: readonly [RegExp, string, string][] = [
  [/kling|luma\/ray/, 'start_image', 'end_image'],
  [/minimax|hailuo/, 'first_frame_image', 'last_frame_image'],
  [/veo/, 'image', 'last_frame'],
  [/wan/, 'image', 'last_image'],
  [/(?:)/, 'image', 'last_frame_image']
]

function inputOf (task: VideoTask): JsonObject {
  const [, first, last] = frames.find(([model]) => model.test(task.model)) ?? ['', 'image', 'last_frame_image']
  return defined({
    prompt: task.prompt,
    [first]: pictureUrl(task.firstFrame),
    [last]: pictureUrl(task.lastFrame),
    duration: task.seconds,
    aspect_ratio: aspectRatioOf(task, usualRatios),
    resolution: resolutionOf(task, ['480p', '720p', '1080p']),
    seed: task.seed,
    generate_audio: task.audio,
    submit_key: task.submitKey
  })
}

const search = { pages: 20, clockSlackMs: 120_000 }

/**
 * Walks through the predictions, newest first, until they are older than the submit. Inputs are deleted after
 * an hour: where some are gone that may have been the job's, nobody can tell.
 */
async function find (task: VideoTask, api: VideoApi, signal: AbortSignal): Promise<string | null> {
  const oldestMs = (task.submittedAt ?? -Infinity) - search.clockSlackMs
  let path = '/predictions'
  for (let page = 0; page < search.pages; page++) {
    const { results, next } = await api.get(path, signal) ?? {}
    if (!Array.isArray(results)) throw badReply('lists no predictions')
    for (const prediction of results.filter(isObject)) {
      if (objectAt(prediction, 'input').submit_key === task.submitKey) return textOf(prediction.id)
      if (Date.parse(String(prediction.created_at)) < oldestMs) return null
      if (prediction.data_removed === true) throw badReply('has lost the inputs of predictions')
    }
    const cursor = typeof next === 'string' ? new URL(next, 'https://list').searchParams.get('cursor') : null
    if (cursor === null) return null
    path = `/predictions?cursor=${encodeURIComponent(cursor)}`
  }
  throw badReply('lists more predictions than are searched')
}
