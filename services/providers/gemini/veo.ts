import { isObject, type JsonObject } from '../../shared/json.ts'
import { createVideoClient } from '../video-jobs/client.ts'
import { readErrorDetail, objectField, textOrNull, type ProviderErrorDetail } from '../video-jobs/errors.ts'
import {
  aspectRatioFor, withoutNulls, frameBytes, refuseOption, resolutionFor, secondsAmong
} from '../video-jobs/fields.ts'
import type { FrameImage, VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'
import { googleCodes, videoFileAt } from './video-files.ts'
import { urlPart } from '../url-part.ts'

const resolutions = ['720p', '1080p', '4k'] as const

/**
 * Google's Veo as the Gemini API had it until October 2026, for proxies that still speak it: a long-running
 * operation. Images are sent as bytes; the video is fetched with the key, which is sent to the provider's own
 * origin only. Of audio there is no field: every video has it. Source: npm @google/genai 3.1.0 and
 * @ai-sdk/google 4.0.121; ai.google.dev/gemini-api/docs/deprecations, 24 Nov 2026.
 */
export function createVeoVideos (upstream: Upstream): VideoProvider {
  const api = createVideoClient(upstream, { auth: apiKey => ({ 'x-goog-api-key': apiKey }), codes: googleCodes })
  return createVideoProvider(api, {
    polling: { minMs: 5_000 },
    frameFormat: 'bytes',
    choices: () => ({ seconds: 8, size: '1280x720', sound: 'always' }),
    submit: task => ({
      path: `/models/${urlPart(task.model)}:predictLongRunning`,
      body: veoRequest(task, { durationSeconds: lengthOf(task) })
    }),
    jobId: response => response.name,
    // An operation's name is a path: models/<model>/operations/<id>.
    handle: name => name.split('/').map(urlPart).join('/'),
    pollPath: handle => `/${handle}`,
    states: { running: 'running', done: 'succeeded', failed: 'failed' },
    async read (operation, _, signal) {
      if (operation.done !== true) return { status: 'running', progress: null }
      if (isObject(operation.error)) return { status: 'failed', error: readErrorDetail(operation.error) }
      const result = objectField(objectField(operation, 'response'), 'generateVideoResponse')
      const files = await Promise.all(addressesIn(result).map(uri => videoFileAt(uri, api, signal)))
      return { status: 'done', files, error: filteredIn(result) }
    }
  })
}

/** The body of a request for one video; `parameters` are those that differ between Google's services. */
export function veoRequest (task: VideoTask, parameters: JsonObject): JsonObject {
  return {
    instances: [withoutNulls({
      prompt: task.prompt || null, image: imageOf(task.firstFrame), lastFrame: imageOf(task.lastFrame)
    })],
    parameters: withoutNulls({
      sampleCount: 1,
      aspectRatio: aspectRatioFor(task, ['16:9', '9:16']),
      resolution: resolutionFor(task, resolutions),
      seed: task.seed,
      ...parameters
    })
  }
}

/** Source: ai.google.dev/gemini-api/docs/video, parameters, 23 Nov 2026. */
function lengthOf (task: VideoTask): number {
  const seconds = secondsAmong(task, [4, 6, 8])
  if (seconds === 8 || resolutionFor(task, resolutions) === '720p') return seconds
  return refuseOption('video.seconds', 'makes videos of more than 720p in 8 seconds only')
}

function imageOf (picture: FrameImage | null) {
  const bytes = frameBytes(picture)
  return bytes && { bytesBase64Encoded: bytes.base64, mimeType: bytes.mime }
}

function addressesIn ({ generatedSamples: samples }: JsonObject): string[] {
  return (Array.isArray(samples) ? samples : [])
    .map(sample => isObject(sample) ? textOrNull(objectField(sample, 'video').uri) : null)
    .filter(uri => uri !== null && URL.canParse(uri))
    .map(String)
}

/** Why an operation is done without a video. */
export function filteredIn (response: JsonObject): ProviderErrorDetail {
  const { raiMediaFilteredCount: count, raiMediaFilteredReasons: reasons } = response
  const [reason] = Array.isArray(reasons) ? reasons : []
  if (reason === undefined && count === undefined) return { code: null, message: null }
  return { code: 'safety', message: textOrNull(reason) ?? 'The video was blocked by safety filters.' }
}
