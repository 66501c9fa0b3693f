import { isObject, type JsonObject } from '../../shared/json.ts'
import { createVideoClient } from '../video-jobs/client.ts'
import { objectField, readErrorDetail, textOrNull, type ProviderErrorDetail } from '../video-jobs/errors.ts'
import {
  aspectRatioFor, frameBytes, refuseLastFrame, refuseSeed, resolutionFor, secondsAmong, withoutNulls
} from '../video-jobs/fields.ts'
import type { VideoProvider, VideoTask } from '../provider-video.ts'
import type { Upstream } from '../provider.ts'
import { createVideoProvider } from '../video-jobs/dialect.ts'
import { googleCodes, videoFileAt } from './video-files.ts'

/**
 * Gemini Omni by the Interactions API, in the background. The video is fetched with the key. There is no
 * field for audio: every video has it. Source: PyPI google-genai 3.6.1 and npm @google/genai 3.3.0,
 * `CreateModelInteraction`, `VideoResponseFormat`, `Interaction`; ai.google.dev/gemini-api/docs/omni, 28 Nov
 * 2026.
 */
export function createOmniVideos (upstream: Upstream): VideoProvider {
  const api = createVideoClient(upstream, {
    auth: apiKey => ({ 'x-goog-api-key': apiKey }), codes: googleCodes
  })
  return createVideoProvider(api, {
    polling: { minMs: 5_000 },
    frameFormat: 'bytes',
    choices: () => ({ seconds: 8, size: '1280x720', sound: 'always' }),
    submit: task => ({ path: '/interactions', body: bodyOf(task) }),
    pollPath: handle => `/interactions/${handle}`,
    states: {
      queued: 'queued',
      in_progress: 'running',
      idle: 'running',
      completed: 'succeeded',
      failed: 'failed',
      incomplete: 'failed',
      budget_exceeded: 'failed',
      requires_action: 'failed',
      requires_continuation: 'failed',
      cancelled: 'cancelled'
    },
    async read (interaction, _, signal) {
      const parts = outputOf(interaction)
      const files = await Promise.all(addressesIn(parts).map(uri => videoFileAt(uri, api, signal)))
      return { status: interaction.status, files, error: failureIn(interaction, parts) }
    },
    cancel: handle => ({ method: 'POST', path: `/interactions/${handle}/cancel` })
  })
}

/** Omni 1.2 makes up to 15 seconds. Source: vercel.com/changelog, and @tanstack/ai-gemini 0.32.0 for 1.1. */
function lengthsOf (model: string): number[] {
  const longest = model.startsWith('gemini-omni-1.1') ? 10 : 15
  return Array.from({ length: longest - 2 }, (_, index) => index + 3)
}

function bodyOf (task: VideoTask): JsonObject {
  refuseLastFrame(task)
  refuseSeed(task)
  const { model, prompt } = task
  const image = frameBytes(task.firstFrame)
  return {
    model,
    background: true,
    input: [
      ...image === null ? [] : [{ type: 'image', data: image.base64, mime_type: image.mime }],
      ...prompt === '' ? [] : [{ type: 'text', text: prompt }]
    ],
    response_format: withoutNulls({
      type: 'video',
      // A video in the response itself would be larger than a status may be.
      delivery: 'uri',
      duration: `${secondsAmong(task, lengthsOf(model))}s`,
      resolution: resolutionFor(task, ['360p', '720p', '1080p', '4k']),
      aspect_ratio: aspectRatioFor(task, ['16:9', '9:16'])
    }),
    generation_config: { video_config: { task: image === null ? 'text_to_video' : 'image_to_video' } }
  }
}

/** The content parts of the model's own steps. */
function outputOf ({ steps }: JsonObject): JsonObject[] {
  return (Array.isArray(steps) ? steps : [])
    .filter(isObject).filter(({ type }) => type === 'model_output')
    .flatMap(({ content }) => Array.isArray(content) ? content.filter(isObject) : [])
}

function addressesIn (parts: readonly JsonObject[]): string[] {
  return parts.filter(({ type }) => type === 'video')
    .map(({ uri }) => textOrNull(uri) ?? '').filter(uri => URL.canParse(uri))
}

/** A refused prompt completes with text and without a video, or the tokens of one. */
function failureIn (interaction: JsonObject, parts: readonly JsonObject[]): ProviderErrorDetail {
  const [error] = Array.isArray(interaction.errors) ? interaction.errors : []
  if (interaction.status !== 'completed' || error !== undefined) return readErrorDetail(error)
  const counts = objectField(interaction, 'usage').output_tokens_by_modality
  const isMade = Array.isArray(counts) && counts.filter(isObject).some(({ modality }) => /^video$/i.test(String(modality)))
  const text = parts.map(part => textOrNull(part.text)).filter(text => text !== null).join(' ')
  return isMade || text === '' ? readErrorDetail(undefined) : { code: null, message: text, kind: 'moderated' }
}
