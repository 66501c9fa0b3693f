import { isObject, type JsonObject } from '../../shared/json.ts'
import { filteredIn, veoRequest } from '../gemini/veo.ts'
import { googleCodes } from '../gemini/video-files.ts'
import type { VideoFile, VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { urlPart } from '../url-part.ts'
import { usualChoices } from '../video-jobs/choices.ts'
import { createVideoClient, type VideoClient } from '../video-jobs/client.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'
import { objectField, readErrorDetail, textOrNull } from '../video-jobs/errors.ts'
import { secondsAmong } from '../video-jobs/fields.ts'
import type { VertexPlace } from './place.ts'

/** A video of 4K in base64. */
const responseBytes = 128 * 1024 * 1024
const noKey = { auth: () => ({}), codes: googleCodes }

/**
 * Veo on Vertex AI, below `…/publishers/google`: a long-running operation, which is read by a POST. Videos
 * are part of its response, or written into `bucket`. Source: npm @google/genai 3.1.0.
 */
export function createVertexVideos (
  upstream: Upstream, { storage }: Pick<VertexPlace, 'storage'>, bucket: string | null
): VideoProvider {
  const api = createVideoClient(upstream, { ...noKey, responseBytes })
  const files = createVideoClient(upstream.at(storage), noKey)
  return createVideoProvider(api, {
    polling: { minMs: 5_000 },
    frameFormat: 'bytes',
    choices: usualChoices,
    submit: task => ({
      path: `/models/${urlPart(task.model)}:predictLongRunning`,
      body: veoRequest(task, {
        durationSeconds: secondsAmong(task, lengthsOf(task)),
        generateAudio: hasSound(task) ? task.audio : null,
        storageUri: bucket
      })
    }),
    jobId: response => response.name,
    handle: name => name,
    pollPath: handle => `/models/${urlPart(modelIn(handle))}:fetchPredictOperation`,
    pollBody: operationName => ({ operationName }),
    states: { running: 'running', done: 'succeeded', failed: 'failed' },
    async read (operation, _, signal) {
      if (operation.done !== true) return { status: 'running', progress: null }
      if (isObject(operation.error)) return { status: 'failed', error: readErrorDetail(operation.error) }
      const result = objectField(operation, 'response')
      const videos = Array.isArray(result.videos) ? result.videos.filter(isObject) : []
      const found = await Promise.all(videos.map(video => fileOf(video, files, signal)))
      return { status: 'done', files: found.filter(file => file !== null), error: filteredIn(result) }
    }
  })
}

const isVeo2 = ({ model }: VideoTask): boolean => model.startsWith('veo-2')
const hasSound = (task: VideoTask): boolean => !isVeo2(task)
const lengthsOf = (task: VideoTask): number[] => isVeo2(task) ? [5, 6, 7, 8] : [4, 6, 8]

/** The model in `projects/<id>/locations/<id>/publishers/google/models/<model>/operations/<id>`. */
function modelIn (operation: string): string {
  return /\/models\/([^/]+)\/operations\/[^/]+$/.exec(operation)?.[1] ?? ''
}

/** Source: cloud.google.com/storage/docs/json_api/v1/objects/get. */
async function fileOf (
  video: JsonObject, files: VideoClient, signal: AbortSignal
): Promise<VideoFile | null> {
  const base64 = textOrNull(video.bytesBase64Encoded)
  if (base64 !== null) return { bytes: Buffer.from(base64, 'base64') }
  const [, bucket, object] = /^gs:\/\/([^/]+)\/(.+)$/s.exec(textOrNull(video.gcsUri) ?? '') ?? []
  if (bucket === undefined || object === undefined) return null
  return await files.openFile(`/storage/v1/b/${urlPart(bucket)}/o/${urlPart(object)}?alt=media`, signal)
}
