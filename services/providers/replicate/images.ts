import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { fanOut } from '../image-api/fan-out.ts'
import { onlyFields } from '../image-api/fields.ts'
import {
  withoutQuality, type GeneratedImages, type ImageCall, type ImageProvider
} from '../provider-image.ts'
import type { Upstream } from '../provider.ts'
import { nearestAspectRatio } from '../image-api/aspect-ratio.ts'
import { createJsonClient, type JsonClient } from '../image-api/json-client.ts'
import { imageFromUrl } from '../image-api/generated-image.ts'
import { bearerAuth } from '../video-jobs/client.ts'
import { poll } from '../upstream/poll.ts'
import { predictionRequest } from './videos.ts'

const pace = { firstMs: 200, longestMs: 2000, deadlineMs: 600_000 }
const cancelMs = 5000
const waitS = 30

/**
 * Images by predictions. Source: npm replicate 1.4.0, and the schemas of the most used models, 24 Nov 2026.
 */
export function createReplicateImages (upstream: Upstream): ImageProvider {
  const client = createJsonClient(upstream, { auth: bearerAuth })
  return withoutQuality(call => {
    const { passed, dropped } = onlyFields(call.request, ['seed', 'negative_prompt', 'output_format', 'output_compression'])
    const { output_format: format, output_compression: quality, ...input } = passed
    const options = {
      ...input,
      ...(format === undefined ? {} : { output_format: format === 'jpeg' ? 'jpg' : format }),
      ...(quality === undefined ? {} : { output_quality: quality })
    }
    return fanOut(call.count, 1, () => generate(call, { ...options, ...inputOf(call) }, dropped, client))
  })
}

/** Some models take width and height, some an aspect ratio; unknown inputs are ignored. */
function inputOf ({ request, size }: ImageCall): JsonObject {
  return {
    prompt: request.prompt,
    ...(size === null ? {} : { ...size, aspect_ratio: nearestAspectRatio(size, ratios) })
  }
}

const ratios = ['1:1', '16:9', '21:9', '3:2', '2:3', '4:5', '5:4', '3:4', '4:3', '9:16', '9:21']

async function generate (
  { model, signal }: ImageCall, input: JsonObject, dropped: readonly string[], client: JsonClient
): Promise<GeneratedImages> {
  const { path, body } = predictionRequest(model, input)
  const started = await client.post(path, body, signal, { prefer: `wait=${waitS}` })
  const ended = resultIn(started) ?? await waitFor(idOf(started), client, signal)
  const url = Array.isArray(ended.output) ? ended.output[0] : ended.output
  if (typeof url !== 'string') throw new UpstreamError('bad_reply', 'yes', 'The provider\'s response has no image.')
  return { images: [imageFromUrl(url, null)], usage: null, costNano: null, dropped }
}

async function waitFor (id: string, client: JsonClient, signal: AbortSignal): Promise<JsonObject> {
  try {
    return await poll(async () => resultIn(await client.get(`/predictions/${id}`, signal)), pace, signal)
  } catch (error) {
    // It may still be running; cancelling an ended prediction has no effect.
    client.post(`/predictions/${id}/cancel`, {}, AbortSignal.timeout(cancelMs)).catch(() => {})
    throw error
  }
}

function resultIn (prediction: JsonObject): JsonObject | null {
  const { status, error } = prediction
  if (status === 'succeeded') return prediction
  if (status === 'starting' || status === 'processing') return null
  const message = typeof error === 'string' && error !== '' ? error : `The prediction ended with status ${String(status)}.`
  const isModerated = /nsfw|safety|sensitive|flagged|moderat/i.test(message)
  throw new UpstreamError(isModerated ? 'moderated' : 'bad_reply', 'yes', message.slice(0, 2000))
}

function idOf ({ id }: JsonObject): string {
  // Validated because it becomes part of a path.
  if (typeof id === 'string' && /^[\w-]{1,128}$/.test(id)) return id
  throw new UpstreamError('bad_reply', 'yes', 'The provider\'s response has no prediction id.')
}
