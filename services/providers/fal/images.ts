import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { fanOut } from '../image-api/fan-out.ts'
import { onlyFields } from '../image-api/fields.ts'
import type { GeneratedImages, ImageCall, ImageProvider, GeneratedImage } from '../provider-image.ts'
import type { Upstream } from '../provider.ts'
import { createJsonClient, type JsonClient } from '../image-api/json-client.ts'
import { imageFromUrl } from '../image-api/generated-image.ts'
import { poll } from '../upstream/poll.ts'
import { choiceFields, imageFieldsOf, type FalImageModel } from './image-fields.ts'
import { modelPath, appPath } from './videos.ts'

const pace = { firstMs: 100, longestMs: 2000, deadlineMs: 600_000 }
/** How long fal stores an image; the gateway downloads it at once. */
const lifetimeS = 3600
const cancelMs = 5000

/**
 * Generates images through fal's queue: submit, poll, fetch the result. Source: npm @fal-ai/client 1.10.1, 24
 * Nov 2026.
 */
export function createFalImages (upstream: Upstream): ImageProvider {
  const client = createJsonClient(upstream, { auth: apiKey => ({ authorization: `Key ${apiKey}` }), refine })
  const generateAll: ImageProvider = call => {
    const model = imageFieldsOf(call.model)
    const { passed, dropped } = onlyFields(call.request, [
      ...model.seed ? ['seed'] : [],
      ...model.negative ? ['negative_prompt'] : [],
      ...model.quality ? ['quality'] : [],
      'output_format'
    ])
    delete passed.quality
    // Not every model makes every format; the gateway converts.
    if (!model.formats.some(format => format === passed.output_format)) delete passed.output_format
    const body = { ...passed, ...bodyOf(call, model) }
    return fanOut(call.count, 1, () => generate(call, body, dropped, client))
  }
  return Object.assign(generateAll, { statesQuality: (model: string) => imageFieldsOf(model).quality })
}

function bodyOf (call: ImageCall, model: FalImageModel): JsonObject {
  return { prompt: call.request.prompt, ...(model.count && { num_images: 1 }), ...choiceFields(call, model) }
}

async function generate (
  { model, signal }: ImageCall, body: JsonObject, dropped: readonly string[], client: JsonClient
): Promise<GeneratedImages> {
  const lifetime = JSON.stringify({ expiration_duration_seconds: lifetimeS })
  const submitted = await client.post(`/${modelPath(model)}`, body, signal,
    { 'x-fal-object-lifecycle-preference': lifetime })
  const id = submitted.request_id
  // Validated because it becomes part of a path.
  if (typeof id !== 'string' || !/^[\w-]{1,128}$/.test(id)) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s response has no request id.')
  }
  const request = `/${appPath(model)}/requests/${id}`
  try {
    await poll(async () => (await client.get(`${request}/status`, signal)).status === 'COMPLETED' || null, pace, signal)
  } catch (error) {
    client.put(`${request}/cancel`, AbortSignal.timeout(cancelMs)).catch(() => {})
    throw error
  }
  return { images: [imageIn(await client.get(request, signal))], usage: null, costNano: null, dropped }
}

function imageIn (result: JsonObject): GeneratedImage {
  const [image] = Array.isArray(result.images) ? result.images : [result.image]
  const [flagged] = [result.has_nsfw_concepts, result.nsfw_content_detected].flatMap(list => list ?? [])
  // A flagged image is all black.
  if (flagged === true) throw moderated('The image was blocked by the provider\'s content policy.')
  if (!isObject(image) || typeof image.url !== 'string') {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s response has no image.')
  }
  return imageFromUrl(image.url, null)
}

/** Reads fal's error format, `{"detail": [{msg, type}]}`. */
function refine (error: UpstreamError, body: unknown): UpstreamError {
  const [detail] = isObject(body) && Array.isArray(body.detail) ? body.detail.filter(isObject) : []
  if (detail === undefined) return error
  const message = String(detail.msg ?? error.message).slice(0, 2000)
  if (detail.type === 'content_policy_violation') return moderated(message)
  return new UpstreamError(error.kind, 'yes', message, error.details)
}

function moderated (message: string): UpstreamError {
  return new UpstreamError('moderated', 'yes', message, { code: 'content_policy_violation' })
}
