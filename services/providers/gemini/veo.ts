import { isObject, type JsonObject } from '../../shared/json.ts'
import { createVideoApi, type VideoApi, type VideoUpstream } from '../video-jobs/api.ts'
import { complaintIn, objectAt, textOf } from '../video-jobs/failures.ts'
import type { Complaint } from '../video-jobs/failures.ts'
import { aspectRatioOf, defined, pictureBytes, resolutionOf } from '../video-jobs/inputs.ts'
import type { FrameImage, VideoFile, VideoProvider } from '../provider-video.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'

const codes = {
  UNAUTHENTICATED: 'auth', PERMISSION_DENIED: 'auth', RESOURCE_EXHAUSTED: 'rate', UNAVAILABLE: 'overloaded'
} as const

/**
 * Google's Veo through the Gemini API: a long-running operation. Pictures go as bytes, and the video is
 * fetched with the key, which is sent to no address but the provider's own. Source: npm @ai-sdk/google 4.
 */
export function createVeoVideos (upstream: VideoUpstream): VideoProvider {
  const api = createVideoApi(upstream, { auth: apiKey => ({ 'x-goog-api-key': apiKey }), codes })
  return createVideoProvider(api, {
    codes,
    polling: { minMs: 5_000 },
    pictures: 'bytes',
    submit: task => ({
      path: `/models/${encodeURIComponent(task.model)}:predictLongRunning`,
      body: {
        instances: [defined({
          prompt: task.prompt, image: imageOf(task.firstFrame), lastFrame: imageOf(task.lastFrame)
        })],
        parameters: defined({
          sampleCount: 1,
          aspectRatio: aspectRatioOf(task, ['16:9', '9:16']),
          resolution: resolutionOf(task, ['720p', '1080p', '4k']),
          durationSeconds: task.seconds,
          seed: task.seed
        })
      }
    }),
    idIn: answer => answer.name,
    // An operation's name is a path: models/<model>/operations/<id>.
    handle: name => name.split('/').map(encodeURIComponent).join('/'),
    path: handle => `/${handle}`,
    states: { running: 'running', done: 'succeeded', failed: 'failed' },
    async read (operation, _, signal) {
      if (operation.done !== true) return { status: 'running', progress: null }
      if (isObject(operation.error)) return { status: 'failed', complaint: complaintIn(operation.error) }
      const answer = objectAt(objectAt(operation, 'response'), 'generateVideoResponse')
      const files = await Promise.all(addressesIn(answer).map(uri => fileAt(uri, api, signal)))
      return { status: 'done', files, complaint: filteredIn(answer) }
    }
  })
}

function imageOf (picture: FrameImage | null) {
  const bytes = pictureBytes(picture)
  return bytes && { bytesBase64Encoded: bytes.base64, mimeType: bytes.mime }
}

function addressesIn ({ generatedSamples: samples }: JsonObject): string[] {
  return (Array.isArray(samples) ? samples : [])
    .map(sample => isObject(sample) ? textOf(objectAt(sample, 'video').uri) : null)
    .filter(uri => uri !== null && URL.canParse(uri))
    .map(String)
}

/** Google's files are asked for at the configured address, whatever host the answer names. */
async function fileAt (uri: string, api: VideoApi, signal: AbortSignal): Promise<VideoFile> {
  const { pathname } = new URL(uri)
  const [, file] = /\/(files\/[\w-]+):download$/.exec(pathname) ?? []
  return file === undefined ? { url: uri } : await api.file(`/${file}:download?alt=media`, signal)
}

/** Why an operation is done without a video. */
function filteredIn (answer: JsonObject): Complaint {
  const { raiMediaFilteredCount: count, raiMediaFilteredReasons: reasons } = answer
  const [reason] = Array.isArray(reasons) ? reasons : []
  if (reason === undefined && count === undefined) return { code: null, message: null }
  return { code: 'safety', message: textOf(reason) ?? 'The video was held back by safety filters.' }
}
