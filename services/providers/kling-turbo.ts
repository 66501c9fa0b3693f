import { UpstreamError } from '../shared/errors.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { textOrNull, objectField } from './video-jobs/errors.ts'
import {
  frameUrlOrBase64, refuseLastFrame, refuseOption, refuseRatio, refuseSeed, resolutionFor, secondsAmong,
  shapeOf, withoutNulls
} from './video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from './provider-video.ts'
import type { Upstream } from './provider.ts'
import { createKlingClient, submittedOnce } from './kling-client.ts'
import { createVideoProvider } from './video-jobs/dialect.ts'
import { urlPart } from './url-part.ts'

/**
 * Kling's API of 2026, for Kling 3.0 Turbo, which no older one serves. The model is in the path; every video
 * has sound. It takes no access key with a secret. Source: kling.ai/document-api/api/video/3-0-turbo, as
 * copied in aself101/kling-api at 71eb8c9, 28 Nov 2026.
 */
export function createKlingTurboVideos (upstream: Upstream): VideoProvider {
  const client = createKlingClient(upstream)
  const provider = createVideoProvider(client, {
    choices: () => ({ seconds: 5, size: '1280x720', sound: 'always' }),
    submit (task) {
      if (upstream.apiKey?.includes(':') === true) needsApiKey()
      const form = task.firstFrame === null ? 'text' : 'image'
      return { path: `/${form}-to-video/${urlPart(task.model)}`, body: bodyOf(task) }
    },
    jobId: response => objectField(response, 'data').id,
    pollPath: handle => `/tasks?task_ids=${handle}`,
    states: { submitted: 'queued', processing: 'running', succeeded: 'succeeded', failed: 'failed' },
    read (response) {
      const { status, outputs, message } = firstTask(response) ?? {}
      const parts = Array.isArray(outputs) ? outputs.filter(isObject) : []
      const { url, duration } = parts.find(({ type }) => type === 'video') ?? {}
      return { status, urls: url, seconds: duration, error: { code: null, message: textOrNull(message) } }
    }
  })
  return submittedOnce(provider, async ({ submitKey }, signal) => {
    const response = await client.get(`/tasks?external_task_ids=${urlPart(submitKey)}`, signal)
    const id = response && textOrNull(firstTask(response)?.id)
    return id && urlPart(id)
  })
}

function firstTask ({ data }: JsonObject): JsonObject | undefined {
  return Array.isArray(data) ? data.find(isObject) : undefined
}

function needsApiKey (): never {
  throw new UpstreamError('auth', 'no',
    'Kling serves this model with an API key only (KLING_API_KEY), not with an access key and its secret.')
}

const lengths = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]

function bodyOf (task: VideoTask): JsonObject {
  refuseSeed(task)
  refuseLastFrame(task)
  const { prompt, firstFrame, submitKey } = task
  if (prompt === '') refuseOption('messages', 'needs a prompt')
  return {
    ...(firstFrame === null
      ? { prompt }
      : { contents: [{ type: 'prompt', text: prompt }, { type: 'first_frame', url: frameUrlOrBase64(firstFrame) }] }),
    settings: withoutNulls({
      resolution: resolutionFor(task, ['720p', '1080p']),
      aspect_ratio: firstFrame === null ? shapeOf(task, ['16:9', '9:16', '1:1']) : refuseRatio(task),
      duration: secondsAmong(task, lengths)
    }),
    options: { external_task_id: submitKey, watermark_info: { enabled: false } }
  }
}
