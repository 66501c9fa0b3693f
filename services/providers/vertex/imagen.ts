import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { megapixelsOf, statedAspectRatio } from '../image-api/aspect-ratio.ts'
import { fanOut } from '../image-api/fan-out.ts'
import { onlyFields } from '../image-api/fields.ts'
import { imageFromBase64 } from '../image-api/generated-image.ts'
import { createJsonClient } from '../image-api/json-client.ts'
import {
  withoutQuality, type GeneratedImages, type ImageCall, type ImageProvider
} from '../provider-image.ts'
import type { Upstream } from '../provider.ts'
import { urlPart } from '../url-part.ts'

const ratios = ['1:1', '3:4', '4:3', '9:16', '16:9']
/** Most images that one call returns. */
const perCall = 4

/** Generates images with Imagen, below `…/publishers/google`. Source: npm @google/genai 3.1.0. */
export function createImagen (upstream: Upstream): ImageProvider {
  const client = createJsonClient(upstream, { auth: () => ({}) })
  return withoutQuality(call => {
    const { passed: { seed }, dropped } = onlyFields(call.request, ['seed'])
    const path = `/models/${urlPart(call.model)}:predict`
    return fanOut(call.count, perCall, async count => {
      return readImages(await client.post(path, bodyOf(call, count, seed), call.signal), dropped)
    })
  })
}

function bodyOf ({ request, size }: ImageCall, sampleCount: number, seed: unknown): JsonObject {
  return {
    instances: [{ prompt: request.prompt }],
    parameters: {
      sampleCount,
      includeRaiReason: true,
      ...(size === null ? {} : { aspectRatio: statedAspectRatio(size, ratios) }),
      // `1K` is the default; the fast models refuse the field.
      ...(size === null || megapixelsOf(size) <= 2 ? {} : { sampleImageSize: '2K' }),
      // A watermark, the default, excludes a seed.
      ...(seed === undefined ? {} : { seed, addWatermark: false })
    }
  }
}

function readImages ({ predictions }: JsonObject, dropped: readonly string[]): GeneratedImages {
  const made = Array.isArray(predictions) ? predictions.filter(isObject) : []
  const images = made.flatMap(({ bytesBase64Encoded: base64, prompt }) =>
    isText(base64) ? [imageFromBase64(base64, isText(prompt) ? prompt : null)] : [])
  if (images.length > 0) return { images, usage: null, costNano: null, dropped }
  // Without predictions, all images were filtered.
  const reason = made.map(({ raiFilteredReason }) => raiFilteredReason).find(isText) ?? 'The images were blocked by safety filters.'
  throw new UpstreamError('moderated', 'yes', reason, { code: 'content_policy_violation' })
}
